// Rules that read the token alone are judged once for a token and a route, and others with each request.

import { beforeAll, expect, test } from 'vitest'
import { buildAuthzTable, type CompiledEntry } from '../../src/extauthz/authz-table.js'
import { ROUTES_PER_TOKEN } from '../../src/extauthz/kept-verdicts.js'
import type { Authorization } from '../../src/model/authorization.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  sign,
  type SigningKey,
  signingKey,
} from './helpers.js'

let key: SigningKey

beforeAll(async () => {
  key = await signingKey()
})

const keyOf = (route: number): string => `default/mcp/${String(route)}`

/** Routes with this one rule each, and the number of its evaluations so far. */
function routesWith(rules: Partial<Authorization>, count = 1) {
  const authorization = { allow: [], deny: [], require: [], ...rules }
  const built = buildAuthzTable(
    [...Array(count).keys()].map((route) =>
      entry({ key: keyOf(route), jwt: jwt(available(key.jwk)), authorization }),
    ),
  )
  let evaluations = 0
  const counted = new Map<CompiledEntry, CompiledEntry>()
  const countedOf = (compiled: CompiledEntry): CompiledEntry => {
    const { rules: own } = compiled
    if (own === undefined) return compiled
    const allow = own.allow.map((rule): typeof rule => ({
      ...rule,
      evaluate: (...given) => {
        evaluations += 1
        return rule.evaluate(...given)
      },
    }))
    return { ...compiled, rules: { ...own, allow } }
  }
  const get = (asked: string): CompiledEntry | undefined => {
    const compiled = built.get(asked)
    if (compiled === undefined) return undefined
    const known = counted.get(compiled) ?? countedOf(compiled)
    counted.set(compiled, known)
    return known
  }
  const { check } = checker(() => ({ ...built, get }))
  return { check, evaluations: () => evaluations }
}

/** Uses the token twice first: one that was used once is not remembered. */
async function timesJudged(rules: Partial<Authorization>, claims = {}): Promise<number> {
  const { check, evaluations } = routesWith(rules)
  const headers = [bearer(await sign(key, claims))]
  for (let use = 0; use < 2; use += 1) await check({ headers, key: keyOf(0) })
  const before = evaluations()
  for (let use = 0; use < 5; use += 1) await check({ headers, key: keyOf(0) })
  return evaluations() - before
}

test.each([
  ['allows', 'jwt.sub == "alice"'],
  ['refuses', 'jwt.sub == "bob"'],
])('a rule that reads the token alone and %s is not judged again', async (_, rule) => {
  expect(await timesJudged({ allow: [rule] })).toBe(0)
})

test('a rule that reads the request is judged each time', async () => {
  expect(await timesJudged({ allow: ['request.method == "POST" && jwt.sub == "alice"'] })).toBe(5)
})

test('each caller has a verdict of its own', async () => {
  const { check } = routesWith({ allow: ['jwt.sub == "alice"'] })
  const [alice, bob] = [bearer(await sign(key)), bearer(await sign(key, { sub: 'bob' }))]
  for (let use = 0; use < 4; use += 1) {
    expect((await check({ headers: [alice], key: keyOf(0) })).status).toBe(200)
    expect((await check({ headers: [bob], key: keyOf(0) })).status).toBe(403)
  }
})

test('a token keeps the verdicts of a few routes that it is used for in turn', async () => {
  const { check, evaluations } = routesWith({ allow: ['jwt.sub == "alice"'] }, ROUTES_PER_TOKEN + 1)
  const headers = [bearer(await sign(key))]
  const useAt = async (routes: number): Promise<number> => {
    const before = evaluations()
    for (let route = 0; route < routes; route += 1)
      expect((await check({ headers, key: keyOf(route) })).status).toBe(200)
    return evaluations() - before
  }
  for (let use = 0; use < 2; use += 1) await useAt(ROUTES_PER_TOKEN)
  expect(await useAt(ROUTES_PER_TOKEN)).toBe(0)
  await useAt(ROUTES_PER_TOKEN + 1)
  expect(await useAt(ROUTES_PER_TOKEN + 1)).toBeGreaterThan(0)
})
