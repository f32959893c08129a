// Rules that cost too much, through Envoy: their requests are refused, and those of other routes do not wait for them.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { bearer, send } from '../support/http.js'
import {
  jwt,
  protectedRoute,
  type ProtectedStack,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { allow } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('k1')

/** Loops of this depth over a list. */
const nested = (depth: number): string =>
  [...Array(depth).keys()].reduceRight(
    (inner, level) => `jwt.groups.all(g${String(level)}, ${inner})`,
    `g0 != "nobody"`,
  )

/** Doubles a text again and again. */
const doubled = (times: number): string =>
  [...Array(times).keys()].reduceRight(
    (inner, level) =>
      `cel.bind(t${String(level + 1)}, t${String(level)} + t${String(level)}, ${inner})`,
    `size(t${String(times)}) > 0`,
  )

const COSTLY = {
  'nested-twelve-deep': nested(12),
  'three-loops': nested(3),
  doubling: `cel.bind(t0, jwt.sub, ${doubled(20)})`,
}

let stack: ProtectedStack
let token: string

beforeAll(async () => {
  const jwtAuthentication = jwt([key])
  stack = await startProtectedStack(
    ...Object.entries(COSTLY).map(([name, expression]) =>
      protectedRoute(name, { jwtAuthentication, authorization: allow(expression) }),
    ),
    protectedRoute('denying', {
      jwtAuthentication,
      authorization: { action: 'Deny', policy: { matchExpressions: [nested(3)] } },
    }),
    protectedRoute('cheap', { jwtAuthentication, authorization: allow('jwt.sub == "alice"') }),
  )
  token = await sign(key, { groups: [...Array(400).keys()].map((n) => `group-${String(n)}`) })
})
afterAll(() => stack.close())

test.each([...Object.keys(COSTLY), 'denying'])('%s is refused', async (name) => {
  expect(await stack.statusOf(name, token)).toBe(403)
})

test('other routes answer between the requests that cost too much', async () => {
  const call = async (name: string): Promise<number> =>
    (await send(stack.origin, `/${name}`, { headers: bearer(token) })).status
  const costly = Array.from({ length: 400 }, () => call('three-loops'))
  const cheap = Array.from({ length: 20 }, () => call('cheap'))
  expect(new Set(await Promise.all(cheap))).toEqual(new Set([200]))
  // Those that waited for longer than Envoy does are 503.
  for (const status of await Promise.all(costly)) expect([403, 503]).toContain(status)
})

test('a warning names the rule, and the metric counts the budget', async () => {
  const lines = stack.log().split('\n')
  const warned = lines.filter((line) => line.includes('the rules of a route exceeded their budget'))
  expect(warned.join('\n')).toContain('default/three-loops')
  expect(warned.join('\n')).not.toContain('group-1')
  expect(await stack.metrics()).toMatch(/^gatehouse_budget_reached_total\{.*"rule-work".*\} [1-9]/m)
})
