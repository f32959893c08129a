// --require-policy through a real Envoy: routes without a policy are closed, also while policies are added and removed.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { jwt, sign } from '../support/protected-stack.js'
import {
  allow,
  CORS_FILTER,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'
import { startTraffic, statusesOf } from '../support/traffic.js'

const key = await newKey('k1')
const token = bearer(await sign(key))
const jwtAuthentication = jwt([key])

let backend: Backend
let stack: Stack

const routeTo = (name: string, more: object = {}): object =>
  httpRoute(name, { rules: [rule(`/${name}`, 'backend', more)] })

beforeAll(async () => {
  backend = await startBackend()
  stack = await startStack({
    flags: ['--require-policy'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      routeTo('none', { filters: [CORS_FILTER] }),
      routeTo('moved', {
        backendRefs: [],
        filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: 'elsewhere.example' } }],
      }),
      routeTo('permissive'),
      proxyPolicy('permissive', 'permissive', {
        jwtAuthentication: jwt([key], { mode: 'Permissive' }),
      }),
      routeTo('public'),
      proxyPolicy('public', 'public', { authorization: allow('true') }),
      routeTo('strict'),
      proxyPolicy('strict', 'strict', { jwtAuthentication }),
      routeTo('changing'),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await backend.close()
})

const statusOf = async (path: string, headers: Record<string, string> = {}): Promise<number> =>
  (await send(stack.origin, path, { headers })).status

test('a route without a policy, or with one that lets everybody in, answers 503 to everybody', async () => {
  const seen = backend.requests.length
  for (const path of ['/none', '/none/x', '/moved', '/permissive'])
    expect([path, await statusOf(path), await statusOf(path, token)]).toEqual([path, 503, 503])
  expect(backend.requests.length).toBe(seen)
  const { headers, body } = await send(stack.origin, '/none', {
    headers: { origin: 'https://app.example' },
  })
  expect(body).toContain('No policy decides who may use this route')
  expect(headers['access-control-allow-origin']).toBe('https://app.example')
})

test('one whose policy decides is unchanged, and rules may allow everyone', async () => {
  expect([await statusOf('/strict'), await statusOf('/strict', token)]).toEqual([401, 200])
  expect(await statusOf('/public')).toBe(200)
})

test('the condition of the route, the metric, the log and the decision log give the reason', async () => {
  const route = (await stack.status()).find(
    ({ kind, name }) => kind === 'HTTPRoute' && name === 'none',
  )
  expect(route?.conditions[0]).toMatchObject({
    type: 'Accepted',
    status: 'True',
    reason: 'AcceptedWithoutPolicy',
  })
  await statusOf('/none')
  expect(await stack.metrics()).toMatch(
    /gatehouse_checks_total\{route="default\/none",decision="deny",reason="no-policy"\} \d/,
  )
  await eventually(() => {
    const lines = stack.log().split('\n')
    expect(lines.filter((line) => line.includes('AcceptedWithoutPolicy'))).toHaveLength(4)
    expect(lines.some((line) => /"reason":"no-policy".*"route":"default\/none"/.test(line))).toBe(
      true,
    )
  })
})

test('while policies are added and removed, no request passes without a token', async () => {
  const traffic = startTraffic({ url: `${stack.origin}/changing`, headers: {}, connections: 4 })
  const inForce = (expected: number): Promise<void> =>
    eventually(async () => expect(await statusOf('/changing', token)).toBe(expected))
  for (let round = 0; round < 4; round++) {
    await stack.write('policy.yaml', proxyPolicy('changing', 'changing', { jwtAuthentication }))
    await inForce(200)
    await stack.remove('policy.yaml')
    await inForce(503)
  }
  expect(Object.keys(statusesOf(await traffic.stop())).toSorted()).toEqual(['401', '503'])
})
