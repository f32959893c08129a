// Verified claims used by Envoy's own filters: the fragments of docs/claims.md, added to a translated configuration.

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { envoyPath } from '../support/envoy.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { type Answer, bearer, send } from '../support/http.js'
import {
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'

const ISSUER = 'https://idp.example/'
const DOCUMENT = resolve(import.meta.dirname, '../../docs/claims.md')

interface HttpConnectionManager {
  http_filters: object[]
  access_log?: object[]
}

let backend: Backend
let idp: DocumentServer
let key: SigningKey
let gatehouse: Gatehouse
let envoy: ChildProcess
let folder: string
let origin: string

beforeAll(async () => {
  backend = await startBackend()
  idp = await startDocumentServer()
  key = await newKey('k1')
  idp.serve('/keys', keySet(key))
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-claims-'))
  const port = await freePort()
  origin = `http://127.0.0.1:${String(port)}`
  const grpc = `unix:${join(folder, 'grpc.sock')}`
  gatehouse = await startGatehouse({
    command: 'serve',
    flags: ['--grpc', grpc, '--listen-address', '127.0.0.1'],
    resources: [
      gateway([port]),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      httpRoute('api', { rules: [rule('/', 'backend')] }),
      proxyPolicy('tokens', 'api', {
        jwtAuthentication: {
          providers: [{ issuer: ISSUER, jwks: remoteJwks('idp', idp.port, '/keys') }],
        },
      }),
    ],
  })
  const config = await translated(gatehouse.folder, grpc)
  envoy = spawn(envoyPath(), ['-c', config, '--use-dynamic-base-id', '--concurrency', '1'], {
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  await eventually(async () => {
    expect((await call('probe')).status).toBe(200)
  }, 30_000)
})

afterAll(async () => {
  const ended = once(envoy, 'exit')
  envoy.kill('SIGKILL')
  await ended
  await gatehouse.close()
  await idp.close()
  await backend.close()
  await rm(folder, { recursive: true })
})

/** The path of `gatehouse translate`'s output with the fragments of the document added. */
async function translated(resources: string, grpc: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    MAIN,
    'translate',
    resources,
    '--listen-address',
    '127.0.0.1',
    '--grpc',
    grpc,
    '--envoy-admin',
    `127.0.0.1:${String(await freePort())}`,
  ])
  const config = parse(stdout) as {
    static_resources: {
      listeners: {
        filter_chains: { filters: { typed_config: HttpConnectionManager }[] }[]
      }[]
    }
  }
  const manager = config.static_resources.listeners[0]?.filter_chains[0]?.filters[0]?.typed_config
  if (manager === undefined) throw new Error('no listener')
  const fragments = await readFragments()
  const filters = ['rate-limit', 'rbac', 'header'].map((name) => fragments.get(name) ?? {})
  manager.http_filters.splice(-1, 0, ...filters)
  manager.access_log = [fragments.get('access-log') ?? {}]
  const path = join(folder, 'envoy.yaml')
  await writeFile(path, stringify(config).replace('/dev/stdout', accessLog()))
  return path
}

const accessLog = (): string => join(folder, 'access.log')

/** The YAML blocks of the document, by the name in their first line. */
async function readFragments(): Promise<Map<string, object>> {
  const text = await readFile(DOCUMENT, 'utf8')
  const blocks = [...text.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g)]
  return new Map(blocks.map((block) => [block[1] ?? '', parse(block[2] ?? '') as object]))
}

async function call(
  sub: string,
  claims: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const token = await signToken({ key, claims: { iss: ISSUER, sub, ...claims } })
  return send(origin, `/${sub}`, { headers: { ...bearer(token), ...headers } })
}

test('a rate limit counts each caller by itself', async () => {
  const statuses = []
  for (let i = 0; i < 4; i++) statuses.push((await call('busy')).status)
  expect(statuses).toEqual([200, 200, 200, 429])
  expect((await call('quiet')).status).toBe(200)
})

test('an RBAC rule refuses by a claim', async () => {
  expect((await call('carol', { suspended: true })).status).toBe(403)
  expect((await call('dave', { suspended: false })).status).toBe(200)
})

test('a request header carries a claim, whatever the caller sends in it', async () => {
  await call('erin', { email: 'erin@example.org' }, { 'x-user-email': 'root@example.org' })
  expect(backend.requests.at(-1)?.headers['x-user-email']).toBe('erin@example.org')
  await call('frank', {}, { 'x-user-email': 'root@example.org' })
  expect(backend.requests.at(-1)?.headers).not.toHaveProperty('x-user-email')
})

test('an access log line names the caller', async () => {
  await call('grace')
  await eventually(async () => {
    expect(await readFile(accessLog(), 'utf8')).toContain('"caller":"grace"')
  }, 15_000)
})
