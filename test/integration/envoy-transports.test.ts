// An Envoy that reaches Gatehouse over a Unix socket, plain TCP, TLS and mutual TLS: configuration, checks, guards and documents over each.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startEnvoy } from '../../src/envoy/child.js'
import { waitUntilLive } from '../../src/envoy/wait-until-live.js'
import { buildBootstrap } from '../../src/xds/bootstrap/bootstrap.js'
import type { GatehouseConnection } from '../../src/xds/bootstrap/gatehouse-clusters.js'
import { startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { envoyPath } from '../support/envoy.js'
import { eventually } from '../support/eventually.js'
import { answerJson, completion, guardedBoth, sample, service } from '../support/guardrails.js'
import { bearer, send } from '../support/http.js'
import { freePort } from '../support/ports.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { documentRoute, requestChats, requestDocuments } from '../support/short-requests.js'
import { startGatehouse } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const closers: (() => unknown)[] = []
const key = await newKey('k1')

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

interface Way {
  readonly connection: GatehouseConnection
  readonly flags: readonly string[]
}

const WAYS: Readonly<Record<string, (folder: string, port: number) => Promise<Way>>> = {
  'a Unix socket': (folder) => {
    const path = join(folder, 'grpc.sock')
    return Promise.resolve({
      connection: { address: { type: 'unix', path } },
      flags: ['--grpc', `unix:${path}`],
    })
  },
  'plain TCP': (_folder, port) => Promise.resolve(overTcp(port)),
  TLS: async (folder, port) => secured(folder, port, false),
  'mutual TLS': async (folder, port) => secured(folder, port, true),
}

const overTcp = (port: number): Way => ({
  connection: { address: { type: 'tcp', host: '127.0.0.1', port } },
  flags: ['--grpc', `127.0.0.1:${String(port)}`],
})

async function secured(folder: string, port: number, mutual: boolean): Promise<Way> {
  const file = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const own = selfSigned('gatehouse.example')
  const envoys = selfSigned('envoy.example')
  const { connection, flags } = overTcp(port)
  const caFile = await file('cert.pem', own.cert)
  const certFile = await file('envoy.pem', envoys.cert)
  const clientCertificate = { certFile, keyFile: await file('envoy-key.pem', envoys.key) }
  return {
    connection: {
      ...connection,
      tls: { caFile, serverName: 'gatehouse.example', ...(mutual && { clientCertificate }) },
    },
    flags: [
      ...flags,
      ...['--grpc-tls-cert', caFile, '--grpc-tls-key', await file('key.pem', own.key)],
      ...(mutual ? ['--grpc-client-ca', certFile] : []),
    ],
  }
}

async function start(way: (folder: string, port: number) => Promise<Way>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-way-'))
  const [llm, webhook] = await Promise.all([startBackend('llm'), startBackend('webhook')])
  llm.answer(answerJson(completion('hello')))
  webhook.answer(sample)
  closers.push(
    () => rm(folder, { recursive: true }),
    () => llm.close(),
    () => webhook.close(),
  )
  const { connection, flags } = await way(folder, await freePort())
  const port = await freePort()
  const gatehouse = await startGatehouse({
    command: 'serve',
    resources: [
      gateway([port]),
      proxyBackend('llm', llm),
      proxyBackend('backend', llm),
      ...service('guard', webhook.port),
      ...guardedBoth,
      ...protectedRoute('api', { jwtAuthentication: jwt([key]) }),
      ...(await documentRoute()),
    ],
    flags: [...flags, '--listen-address', '127.0.0.1'],
  })
  closers.push(() => gatehouse.close())
  const admin = { type: 'tcp', host: '127.0.0.1', port: await freePort() } as const
  const envoy = await startEnvoy({
    envoyPath: envoyPath(),
    bootstrap: buildBootstrap({
      nodeCluster: '*',
      nodeId: 'envoy',
      connection,
      envoyAdmin: admin,
      world: false,
    }),
    logger: quiet,
    concurrency: 1,
  })
  closers.push(() => envoy.stop())
  await waitUntilLive(envoy, `http://127.0.0.1:${String(admin.port)}`, 30_000)
  return `http://127.0.0.1:${String(port)}`
}

test.each(Object.keys(WAYS))('%s', async (name) => {
  const way = WAYS[name]
  if (way === undefined) throw new Error(name)
  const origin = await start(way)
  const headers = bearer(await sign(key))
  await eventually(async () => expect((await send(origin, '/api', { headers })).status).toBe(200))
  expect((await send(origin, '/api')).status).toBe(401)
  expect(await requestChats({ origin }, 400)).toEqual({ 200: 400 })
  expect(await requestDocuments({ origin }, 1_500)).toEqual({ 200: 1_500 })
})
