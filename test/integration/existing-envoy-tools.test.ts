// Rules about tools with a user-configured Envoy: config/compose/envoy.yaml, with and without the line for them that
// its comment gives.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { envoyPath } from '../support/envoy.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { send } from '../support/http.js'
import { gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'

const SAMPLE = resolve(import.meta.dirname, '../../config/compose/envoy.yaml')

let backend: Backend
let gatehouse: Gatehouse
let folder: string
const envoys: ChildProcess[] = []
/** Origins of an Envoy that sends bodies to checks, and of one that is configured like the sample. */
let sending: string, plain: string

beforeAll(async () => {
  backend = await startBackend()
  const grpc = await freePort()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-beside-tools-'))
  gatehouse = await startGatehouse({
    command: 'serve',
    flags: ['--grpc', `127.0.0.1:${String(grpc)}`],
    resources: [
      gateway([8080]),
      proxyBackend('server', backend),
      httpRoute('mcp', { rules: [rule('/mcp', 'server')] }),
      proxyPolicy('mcp', 'mcp', {
        authorization: {
          action: 'Deny',
          policy: { matchExpressions: ['mcp.tool.name == "get-sum"'] },
        },
      }),
    ],
  })
  const text = await readFile(SAMPLE, 'utf8')
  const withBodies = text
    .replace(/# (with_request_body: \{ max_request_bytes: 1048576)/, '$1')
    .replace('disable_request_body_buffering: true', '')
  ;[sending, plain] = [await startEnvoy(withBodies, grpc), await startEnvoy(text, grpc)]
})

afterAll(async () => {
  const ended = envoys.map((envoy) => once(envoy, 'exit'))
  for (const envoy of envoys) envoy.kill('SIGKILL')
  await Promise.all(ended)
  await gatehouse.close()
  await backend.close()
  await rm(folder, { recursive: true })
})

/** Starts an Envoy on free ports. Resolves with its origin. */
async function startEnvoy(sample: string, grpc: number): Promise<string> {
  const port = await freePort()
  const ports: Readonly<Record<string, number>> = {
    8080: port,
    3001: backend.port,
    18000: grpc,
    19000: await freePort(),
  }
  const config = join(folder, `${String(port)}.yaml`)
  await writeFile(
    config,
    sample.replace(/\b(8080|3001|18000|19000)\b/g, (named) => String(ports[named])),
  )
  const args = ['-c', config, '--use-dynamic-base-id', '--concurrency', '1']
  envoys.push(spawn(envoyPath(), args, { stdio: 'ignore' }))
  const origin = `http://127.0.0.1:${String(port)}`
  await eventually(async () => {
    expect((await send(origin, '/healthz')).status).toBe(200)
  }, 30_000)
  return origin
}

async function call(origin: string, name: string): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name } }
  const answer = await send(origin, '/mcp', {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  return answer.status
}

test('hold where the route sends bodies', async () => {
  await eventually(async () => expect(await call(sending, 'echo')).toBe(200))
  expect(await call(sending, 'get-sum')).toBe(403)
})

test('let nothing in where it does not', async () => {
  const seen = backend.requests.length
  for (const tool of ['echo', 'get-sum']) expect([400, 503]).toContain(await call(plain, tool))
  expect(backend.requests).toHaveLength(seen)
})
