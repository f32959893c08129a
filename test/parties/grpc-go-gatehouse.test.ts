// A grpc-go client with a complete Gatehouse: a check, a document, its configuration, and its health until it ends.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { Status } from '../../src/wire/grpc/status.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { jwt, protectedRoute, sign } from '../support/protected-stack.js'
import { gateway, httpRoute, proxyBackend, rule } from '../support/resources.js'
import { documentRoute } from '../support/short-requests.js'
import { newKey } from '../support/tokens.js'
import { grpcGo } from './support/grpc-go.js'

const key = await newKey('k1')
/** Nothing listens there. */
const backend = { host: '127.0.0.1', port: 9 }
const lateRoute = [httpRoute('late', { rules: [rule('/late', 'late')] })]
const CHECKS = 'envoy.service.auth.v3.Authorization'

let gatehouse: Gatehouse
let target: string

beforeAll(async () => {
  target = `127.0.0.1:${String(await freePort())}`
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [
      gateway([8080]),
      proxyBackend('backend', backend),
      ...protectedRoute('api', { jwtAuthentication: jwt([key]) }),
      ...(await documentRoute()),
    ],
    flags: ['--grpc', target],
  })
})
afterAll(() => gatehouse.close())

test('a check is decided: no token, a good one, a route that is not known', async () => {
  const ask = async (route: string, token = ''): Promise<unknown> => {
    const [answer, end] = await grpcGo('check', { target }, route, token).rest()
    expect(end).toMatchObject({ event: 'end', code: Status.OK })
    return answer?.['http']
  }
  expect(await ask('default/api/0')).toBe(401)
  expect(await ask('default/api/0', await sign(key))).toBe(0)
  expect(await ask('default/other/0')).toBe(503)
})

test('a document of a well-known path is answered on a stream', async () => {
  const path = '/.well-known/oauth-protected-resource/mcp'
  const [answer] = await grpcGo('document', { target }, 'default/mcp/0', path).rest()
  expect(answer).toMatchObject({ event: 'answer', http: 200 })
  expect(JSON.parse(String(answer?.['body']))).toMatchObject({
    resource: 'https://gateway.example/mcp',
  })
})

test('listeners come by the state of the world and by changes', async () => {
  expect(await grpcGo('ads', { target }, '*').rest()).toEqual([
    { event: 'listeners', world: 1, delta: 1 },
  ])
})

test('one connection has ADS, a health watch, 500 checks and 500 documents at once', async () => {
  const path = '/.well-known/oauth-protected-resource/mcp'
  const client = grpcGo('mixed', { target }, 'default/api/0', 'default/mcp/0', path)
  expect(await client.next()).toEqual({
    event: 'answers',
    counts: { 'check 401': 500, 'document 200': 500 },
    clusters: true,
  })
  await gatehouse.write('more.yaml', proxyBackend('late', backend), ...lateRoute)
  expect(await client.rest()).toEqual([{ event: 'pushed', clusters: 1 }])
})

test('the health of a service is reported, and watched until the end; an unknown one is NOT_FOUND', async () => {
  expect(await grpcGo('health', { target }, CHECKS).rest()).toMatchObject([
    { event: 'answer', health: 'SERVING' },
    { event: 'end', code: Status.OK },
  ])
  const [, unknown] = await grpcGo('health', { target }, 'no.such.Service').rest()
  expect(unknown).toMatchObject({ event: 'end', code: Status.NOT_FOUND })
  const watching = grpcGo('watchHealth', { target }, CHECKS)
  expect(await watching.next()).toEqual({ event: 'health', health: 'SERVING' })
  gatehouse.child.kill('SIGTERM')
  expect(await watching.rest()).toMatchObject([
    { event: 'health', health: 'NOT_SERVING' },
    { event: 'end', code: Status.OK },
  ])
  await eventually(() => expect(gatehouse.child.exitCode).toBe(0))
})
