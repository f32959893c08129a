// The well-known paths of an MCP route through a real Envoy: what clients get, and that nothing passes to the route's
// backend.

import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { registrationPath, serverMetadataPath } from '../../src/extauthz/oauth/paths.js'
import { createProcessService } from '../../src/extproc/process-service.js'
import type { CallRemote } from '../../src/kit/http/http-call.js'
import { type GrpcServer, startGrpcServer } from '../../src/wire/grpc/server.js'
import { freePort } from '../../testing/ports.js'
import { AS, entry, OIDC, PRM, proxied, REGISTRATION } from '../extproc/support/entries.js'
import { guardrails } from '../extproc/support/guards.js'
import { buildProcTable } from '../extproc/support/proc-table.js'
import { silent } from '../extproc/support/stream.js'
import { ANY_PORT } from '../support/any-port.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { chain, destination, forward, ir, route } from '../support/ir.js'
import { startTranslated, type TranslatedEnvoy } from '../support/translated-envoy.js'

const cors = {
  allowOrigins: ['https://app.example'],
  allowMethods: ['*'],
  allowHeaders: ['Authorization'],
  exposeHeaders: ['WWW-Authenticate'],
  allowCredentials: true,
}

/** A provider that never answers; reports when it is called and when its caller gives up. */
const provider = { called: () => {}, aborted: () => {} }
const callRemote: CallRemote = (_target, { signal }) => {
  provider.called()
  return new Promise((resolve) => {
    signal?.addEventListener('abort', () => {
      provider.aborted()
      resolve({ ok: false, error: { type: 'aborted' } })
    })
  })
}

let backend: Backend
let server: GrpcServer
let envoy: TranslatedEnvoy
let origin: string

beforeAll(async () => {
  backend = await startBackend('mcp')
  const port = await freePort()
  origin = `http://127.0.0.1:${String(port)}`
  const own = entry({ paths: { mcpPath: '/mcp' } })
  const table = buildProcTable([own, { ...proxied(), key: 'proxied', paths: { mcpPath: '/slow' } }])
  server = await startGrpcServer({
    address: ANY_PORT,
    services: [
      createProcessService({
        guardrails: guardrails(),
        table: () => table,
        callRemote,
        now: () => 0,
        logger: silent,
      }),
    ],
    logger: silent,
  })
  const answered = (path: string, key: string) =>
    // A forwarding action: the processor alone keeps these requests from the backend.
    route(path, forward('mcp'), { cors, proc: { key, mode: 'well-known' } })
  envoy = await startTranslated(
    ir({
      port,
      chains: [
        chain('main', [
          answered(AS, own.key),
          answered(PRM, own.key),
          answered(OIDC, own.key),
          answered(serverMetadataPath('/slow'), 'proxied'),
          answered('/unknown', 'no such key'),
        ]),
      ],
      destinations: [destination('mcp', backend.port)],
    }),
    {
      gatehouse: { type: 'tcp', host: '127.0.0.1', port: Number(server.address.split(':').at(-1)) },
    },
  )
})
afterAll(async () => {
  await envoy.close()
  await server.close()
  await backend.close()
})

const json = { 'content-type': 'application/json' }
const good = '{"client_name":"c","redirect_uris":["http://127.0.0.1/cb"]}'

describe('metadata', () => {
  test('of the resource, for browsers too', async () => {
    const answer = await send(origin, PRM, { headers: { origin: 'https://app.example' } })
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body)).toMatchObject({ resource: `${origin}/mcp` })
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-cache',
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
    })
  })

  test('X-Forwarded-Proto of a client is not believed', async () => {
    const answer = await send(origin, PRM, { headers: { 'x-forwarded-proto': 'https' } })
    expect(JSON.parse(answer.body)).toMatchObject({ resource: `${origin}/mcp` })
  })

  test('HEAD has no body', async () => {
    const answer = await send(origin, AS, { method: 'HEAD' })
    expect([answer.status, answer.body]).toEqual([200, ''])
    expect(answer.headers['content-type']).toBe('application/json')
  })

  test('other methods, with a body too', async () => {
    const answer = await send(origin, PRM, { method: 'PUT', body: 'x'.repeat(100_000) })
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  test('another path below is 404', async () => {
    expect((await send(origin, `${PRM}/x`)).status).toBe(404)
  })
})

describe('registration', () => {
  test('is answered when its body has come', async () => {
    const answer = await send(origin, REGISTRATION, { method: 'POST', headers: json, body: good })
    expect(answer.status).toBe(201)
    expect(JSON.parse(answer.body)).toMatchObject({ client_id: 'public-client', client_name: 'c' })
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test('in chunks', async () => {
    const sent = httpRequest(`${origin}${REGISTRATION}`, { method: 'POST', headers: json })
    for (const piece of good.match(/.{1,10}/g) ?? []) sent.write(piece)
    sent.end()
    const [answer] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }]
    answer.resume()
    expect(answer.statusCode).toBe(201)
  })

  test.each([
    ['without a body', ''],
    ['without sense', 'x=1'],
  ])('%s is 400', async (_, content) => {
    expect((await send(origin, REGISTRATION, { method: 'POST', body: content })).status).toBe(400)
  })

  test.each([65_537, 6_000_000])('of %i bytes is 413', async (size) => {
    const answer = await send(origin, REGISTRATION, { method: 'POST', body: ' '.repeat(size) })
    expect(answer.status).toBe(413)
  })
})

test('a key that the table does not have is refused', async () => {
  expect((await send(origin, '/unknown')).status).toBe(503)
})

test('a client that disconnects while the provider is asked ends that call', async () => {
  const called = new Promise<void>((resolve) => (provider.called = resolve))
  const aborted = new Promise<void>((resolve) => (provider.aborted = resolve))
  const sent = httpRequest(`${origin}${registrationPath('/slow')}`, { method: 'POST' })
  sent.on('error', () => {})
  sent.end(good)
  await called
  sent.destroy()
  await aborted
})

test('a shutdown while the provider is asked is refused, not passed', async () => {
  const called = new Promise<void>((resolve) => (provider.called = resolve))
  const answer = send(origin, registrationPath('/slow'), { method: 'POST', body: good })
  await called
  await server.drain(1)
  expect((await answer).status).toBe(503)
  expect((await send(origin, PRM)).status).toBe(503)
})

test('the backend was never reached', () => {
  expect(backend.requests).toEqual([])
})
