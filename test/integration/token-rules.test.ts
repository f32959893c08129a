// Rules on the claims of a token through Envoy: those of several policies apply together.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  jwt,
  protectedRoute,
  type ProtectedStack,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { allow, httpRoute, proxyPolicy, rule } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const ours = await newKey('k1')

let stack: ProtectedStack

const rules = (action: string, ...matchExpressions: readonly string[]): object => ({
  authorization: { action, policy: { matchExpressions } },
})

beforeAll(async () => {
  const jwtAuthentication = jwt([ours])
  stack = await startProtectedStack(
    protectedRoute('strict', { jwtAuthentication }),
    protectedRoute(
      'pooled',
      {
        jwtAuthentication,
        authorization: allow('"users" in jwt.groups', 'jwt.sub == "root"'),
      },
      rules('Require', 'jwt.level >= 2', 'request.method == "GET"'),
      rules('Deny', 'jwt.sub == "mallory"', 'request.headers["x-banned"] == "yes"'),
    ),
    protectedRoute('denying', { jwtAuthentication, ...rules('Deny', 'jwt.level > 5') }),
    [
      httpRoute('hosts', {
        hostnames: ['admin.example', 'www.example'],
        rules: [rule('/hosts', 'backend')],
      }),
      proxyPolicy('hosts', 'hosts', rules('Deny', 'request.host == "admin.example"')),
    ],
    protectedRoute('invalid', { jwtAuthentication, authorization: allow('jwt.sub ==') }),
  )
})
afterAll(() => stack.close())

describe('rules of several policies on one route', () => {
  const user = { groups: ['users'], level: 2 }
  test.each([
    ['an Allow and every Require', user, {}, 200],
    ['the other Allow', { ...user, groups: [], sub: 'root' }, {}, 200],
    ['no Allow', { ...user, groups: [] }, {}, 403],
    ['a Require is false', { ...user, level: 1 }, {}, 403],
    ['a Require cannot be evaluated', { groups: ['users'] }, {}, 403],
    ['an Allow cannot be evaluated, the other is true', { level: 2, sub: 'root' }, {}, 200],
    ['a Deny', { ...user, sub: 'mallory' }, {}, 403],
    ['a Deny on a header', user, { 'x-banned': 'yes' }, 403],
    ['another value of that header', user, { 'x-banned': 'no' }, 200],
  ])('%s', async (_what, claims, headers, expected) => {
    const banned = { 'x-banned': 'no', ...headers }
    expect(await stack.statusOf('pooled', await sign(ours, claims), banned)).toBe(expected)
  })

  test('a Deny that cannot be evaluated refuses', async () => {
    const user = { groups: ['users'], level: 2 }
    expect(await stack.statusOf('pooled', await sign(ours, user))).toBe(403)
  })

  test('Deny alone lets everybody else in', async () => {
    expect(await stack.statusOf('denying', await sign(ours, { level: 5 }))).toBe(200)
    expect(await stack.statusOf('denying', await sign(ours, { level: 6 }))).toBe(403)
    expect(await stack.statusOf('denying', await sign(ours, { level: 'high' }))).toBe(403)
    expect(await stack.statusOf('denying', await sign(ours))).toBe(403)
  })

  test.each([
    ['www.example', 200],
    ['admin.example', 403],
    ['ADMIN.example', 403],
    ['admin.example:81', 403],
    ['admin.example.', 403],
    ['admin.example.:81', 403],
    ['www.example.', 200],
  ])('a Deny of a host holds however it is spelt: %s', async (host, expected) => {
    expect(await stack.statusOf('hosts', undefined, { host })).toBe(expected)
  })

  test('a rule that is not CEL refuses with 500 until it is fixed', async () => {
    expect(await stack.statusOf('invalid', await sign(ours))).toBe(500)
    const policy = (await stack.status()).find(({ name }) => name === 'invalid-0')
    expect(policy?.conditions.find(({ type }) => type === 'Accepted')?.status).toBe('False')
    expect(await stack.statusOf('strict', await sign(ours))).toBe(200)
  })
})
