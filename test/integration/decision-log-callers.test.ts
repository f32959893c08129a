// Whose denials the decision log tells apart, and that "all" is all.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { ISSUER, protectedRoute, provider, sign } from '../support/protected-stack.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const jwtAuthentication = { providers: [provider([key], { audiences: ['api'] })] }

let backend: Backend
const stacks: Stack[] = []

beforeAll(async () => {
  backend = await startBackend()
})
afterAll(async () => {
  await Promise.all(stacks.map((stack) => stack.close()))
  await backend.close()
})

async function start(...flags: readonly string[]): Promise<Stack> {
  const stack = await startStack({
    own: true,
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('api', {
        jwtAuthentication,
        authorization: {
          action: 'Deny',
          policy: { matchExpressions: ['request.method == "PUT"'] },
        },
      }),
    ],
    flags,
  })
  stacks.push(stack)
  return stack
}

interface Line extends Readonly<Record<string, unknown>> {
  readonly leftOut: number
}

const linesOf = (stack: Stack, msg: string): readonly Line[] =>
  stack
    .log()
    .split('\n')
    .filter((line) => line.includes(`"msg":"${msg}"`))
    .map((line) => JSON.parse(line) as Line)

/** How many decisions the lines of a caller tell of, and how many of them have a line. */
function toldOf(
  stack: Stack,
  caller: Readonly<Record<string, unknown>>,
): { readonly lines: number; readonly told: number } {
  const ofCaller = (line: Line): boolean =>
    Object.entries(caller).every(([name, value]) => line[name] === value)
  const lines = linesOf(stack, 'decision').filter(ofCaller)
  const all = [...lines, ...linesOf(stack, 'decisions left out').filter(ofCaller)]
  const leftOut = all.reduce((sum, line) => sum + line.leftOut, 0)
  return { lines: lines.length, told: lines.length + leftOut }
}

const put = async (stack: Stack, token: string): Promise<number> =>
  (await send(stack.origin, '/api', { method: 'PUT', headers: bearer(token) })).status

test('two callers who are denied at once have a line each, and are counted by themselves', async () => {
  const stack = await start()
  const [alice, bob, claimed] = await Promise.all([
    sign(key, { aud: 'api', sub: 'alice' }),
    sign(key, { aud: 'api', sub: 'bob' }),
    sign(key, { aud: 'other', sub: 'bob' }),
  ])
  const denied = [alice, bob, alice, claimed, alice].map((token) => put(stack, token))
  expect((await Promise.all(denied)).sort()).toEqual([401, 403, 403, 403, 403])
  expect(await stack.stop()).toBe(0)
  const byRule = { reason: 'denied-by-rule', route: 'default/api', verified: true, iss: ISSUER }
  expect(toldOf(stack, { ...byRule, sub: 'alice' })).toEqual({ lines: 1, told: 3 })
  expect(toldOf(stack, { ...byRule, sub: 'bob' })).toEqual({ lines: 1, told: 1 })
  const unverified = { reason: 'wrong-audience', verified: false, sub: 'bob' }
  expect(toldOf(stack, unverified)).toEqual({ lines: 1, told: 1 })
  for (const token of [alice, bob, claimed]) expect(stack.log()).not.toContain(token.slice(-40))
})

/** As many at once as slow machines check within Envoy's deadline. */
const AT_ONCE = 25

test.each([1, 2])(
  '%i processes, all: a thousand denials are lines, or counted',
  async (workers) => {
    const stack = await start('--decision-log', 'all', '--workers', String(workers))
    const token = await sign(key, { aud: 'api', sub: 'alice' })
    const statuses = new Set<number>()
    for (let sent = 0; sent < 1_000; sent += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, () => put(stack, token))
      for (const status of await Promise.all(some)) statuses.add(status)
    }
    expect([...statuses]).toEqual([403])
    expect(await stack.stop()).toBe(0)
    const { lines, told } = toldOf(stack, { reason: 'denied-by-rule', sub: 'alice' })
    expect(told).toBe(1_000)
    expect(lines).toBeGreaterThan(900)
  },
)
