// `gatehouse serve` with a separately started Envoy that uses the bootstrap that Gatehouse prints.

import { execFileSync } from 'node:child_process'
import type { ClientReadableStream } from '@grpc/grpc-js'
import { credentials, makeGenericClientConstructor, status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startEnvoy } from '../../src/cli/run-envoy/child.js'
import { waitUntilLive } from '../../src/cli/run-envoy/wait-until-live.js'
import type { JsonObject } from '../../src/model/json.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { type Backend, startBackend } from '../support/backend.js'
import { envoyPath } from '../support/envoy.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { authorizationService, healthService } from '../support/grpc-client.js'
import { bearer, send } from '../support/http.js'
import { gateway, httpRoute, proxyBackend, proxyPolicy, rule } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const closers: (() => unknown)[] = []

let backend: Backend
let port: number
let grpc: string

beforeEach(async () => {
  backend = await startBackend()
  port = await freePort()
  grpc = `127.0.0.1:${String(await freePort())}`
  closers.push(() => backend.close())
})

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const key = await newKey('k1')
const token = await signToken({ key, claims: { iss: 'https://idp.example' } })

const resources = (): readonly object[] => [
  gateway([port]),
  proxyBackend('backend', backend),
  httpRoute('api', { rules: [rule('/', 'backend')] }),
  proxyPolicy('api', 'api', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: 'https://idp.example', jwks: { inline: JSON.stringify(keySet(key)) } }],
    },
  }),
]

async function serve(
  unready = false,
  documents = resources(),
  ...more: string[]
): Promise<Gatehouse> {
  const flags = [...more, '--grpc', grpc, '--listen-address', '127.0.0.1']
  const gatehouse = await startGatehouse({ command: 'serve', resources: documents, flags, unready })
  closers.push(() => gatehouse.close())
  return gatehouse
}

/** Starts an Envoy with the printed bootstrap, as a person would. */
async function startOtherEnvoy(): Promise<string> {
  const adminPort = await freePort()
  const admin = `127.0.0.1:${String(adminPort)}`
  const args = [MAIN, 'bootstrap', '--grpc', grpc, '--envoy-admin', admin]
  const yaml = execFileSync(process.execPath, args, { encoding: 'utf8' })
  const child = await startEnvoy({
    envoyPath: envoyPath(),
    bootstrap: parse(yaml) as JsonObject,
    logger: quiet,
    concurrency: 1,
  })
  closers.push(() => child.stop())
  await waitUntilLive(child, { type: 'tcp', host: '127.0.0.1', port: adminPort }, 30_000)
  return `http://127.0.0.1:${String(port)}`
}

const statusOf = async (origin: string, headers: Record<string, string> = {}): Promise<number> =>
  (await send(origin, '/', { headers })).status

/** Serves a document that cannot be decoded. */
async function serveUnread(...more: string[]): Promise<Gatehouse> {
  const gatehouse = await serve(true, [...resources(), { kind: 'Gateway' }], ...more)
  await eventually(async () => {
    const answer = await fetch(`${gatehouse.admin}/readyz`)
    expect(answer.status).toBe(503)
    expect(await answer.text()).toMatch(/not ready: .*resources\.yaml:\d+:\d+: /)
  })
  return gatehouse
}

describe('readiness', () => {
  test('waits until every document has decoded once, and names those that have not', async () => {
    const gatehouse = await serveUnread()
    await gatehouse.write('resources.yaml', ...resources())
    await eventually(async () =>
      expect((await fetch(`${gatehouse.admin}/readyz`)).status).toBe(200),
    )
  })

  test.each([1, 2])(
    'until then, health is NOT_SERVING and checks are left to another replica (--workers %d)',
    async (workers) => {
      const gatehouse = await serveUnread('--workers', String(workers))
      const health = watchHealth()
      expect(await health.next()).toBe(2)
      await expect(checkOnce()).rejects.toMatchObject({ code: status.UNAVAILABLE })
      await gatehouse.write('resources.yaml', ...resources())
      expect(await health.next()).toBe(1)
      await expect(checkOnce()).resolves.toBeDefined()
    },
  )
})

describe('an Envoy with the printed bootstrap', () => {
  test('is configured, protects, and is shown in /status', async () => {
    const gatehouse = await serve()
    const origin = await startOtherEnvoy()
    expect(await statusOf(origin)).toBe(401)
    expect(await statusOf(origin, bearer(token))).toBe(200)
    const { envoys } = (await (await fetch(`${gatehouse.admin}/status`)).json()) as {
      envoys: { node: string; cluster: string; connected: boolean }[]
    }
    expect(envoys).toEqual([
      expect.objectContaining({ node: 'envoy', cluster: '*', connected: true }),
    ])
  })

  test('answers 503 while Gatehouse is gone, never lets anything through, and recovers', async () => {
    const first = await serve()
    const origin = await startOtherEnvoy()
    expect(await statusOf(origin, bearer(token))).toBe(200)
    await first.stop('SIGKILL')
    const reached = backend.requests.length
    for (const headers of [{}, bearer(token)]) expect(await statusOf(origin, headers)).toBe(503)
    expect(backend.requests).toHaveLength(reached)
    await serve()
    await eventually(async () => expect(await statusOf(origin, bearer(token))).toBe(200), 20_000)
    expect(await statusOf(origin)).toBe(401)
  })

  test('may have started first', async () => {
    const starting = startOtherEnvoy()
    await serve()
    expect(await statusOf(await starting)).toBe(401)
  })
})

describe('SIGTERM', () => {
  test('health is NOT_SERVING at once, checks are answered until Envoy has noticed, exit code 0', async () => {
    const gatehouse = await serve()
    const origin = await startOtherEnvoy()
    const health = watchHealth()
    expect(await health.next()).toBe(1)
    const stopped = gatehouse.stop()
    expect(await health.next()).toBe(2)
    expect((await fetch(`${gatehouse.admin}/readyz`)).status).toBe(503)
    expect(await statusOf(origin, bearer(token))).toBe(200)
    expect(await stopped).toBe(0)
    expect(await statusOf(origin, bearer(token))).toBe(503)
  })

  test('without a connection ends at once', async () => {
    const gatehouse = await serve(false, resources(), '--drain-timeout', '1h')
    expect(await gatehouse.stop()).toBe(0)
  })
})

/** Asks for a check of an unknown route. Rejects if the call fails. */
function checkOnce(): Promise<unknown> {
  const Client = makeGenericClientConstructor(authorizationService, 'Authorization')
  const client = new Client(grpc, credentials.createInsecure())
  closers.push(() => client.close())
  const { path, requestSerialize, responseDeserialize } = authorizationService['check']!
  const request = { $typeName: 'envoy.service.auth.v3.CheckRequest' }
  return new Promise((resolve, reject) => {
    const answered = (error: Error | null, answer: unknown): void =>
      error === null ? resolve(answer) : reject(error)
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, answered)
  })
}

/** grpc.health.v1 Watch. next: resolves with the next status (1 SERVING, 2 NOT_SERVING). */
function watchHealth(): { next(): Promise<number> } {
  const Client = makeGenericClientConstructor(healthService, 'Health')
  const client = new Client(grpc, credentials.createInsecure())
  const { path, requestSerialize, responseDeserialize } = healthService['watch']!
  const stream: ClientReadableStream<{ status: number }> = client.makeServerStreamRequest(
    path,
    requestSerialize,
    responseDeserialize as (bytes: Buffer) => { status: number },
    { $typeName: 'grpc.health.v1.HealthCheckRequest', service: '' },
  )
  stream.on('error', () => undefined)
  closers.push(() => client.close())
  const answers = stream[Symbol.asyncIterator]()
  return {
    next: async () => {
      const { value } = (await answers.next()) as { value: { status: number } }
      return value.status
    },
  }
}
