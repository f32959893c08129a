// Checks whose rules cost much: they take turns, and checks of other routes go first.

import { beforeAll, expect, test } from 'vitest'
import {
  available,
  bearer,
  checker,
  entry,
  FREE_CALL,
  jwt,
  NOW,
  sign,
  type SigningKey,
  signingKey,
} from './helpers.js'

let key: SigningKey
let headers: readonly (readonly [string, string])[]

beforeAll(async () => {
  key = await signingKey()
  const groups = [...Array(400).keys()].map((index) => `group-${String(index)}`)
  headers = [bearer(await sign(key, { groups }))]
})

const COSTLY = 'default/costly/0'
const CHEAP = 'default/cheap/0'

const LOOPS = 'jwt.groups.all(a, jwt.groups.all(b, a + b + request.method != ""))'

function routes(options: Parameters<typeof checker>[1] = {}) {
  const rule = (route: string, allow: string) =>
    entry({
      key: route,
      jwt: jwt(available(key.jwk)),
      authorization: { allow: [allow], deny: [], require: [] },
    })
  return checker([rule(COSTLY, LOOPS), rule(CHEAP, 'request.method == "POST"')], options)
}

test('of many that arrive at once, few are decided in a turn, and others need not wait for them', async () => {
  const { check, observed } = routes()
  const first = await check({ headers, key: COSTLY })
  expect(first.status).toBe(403)
  observed.decisions.length = 0
  const costly = Array.from({ length: 100 }, () => check({ headers, key: COSTLY }))
  const cheap = check({ headers, key: CHEAP })
  expect(observed.decisions.map(({ reason }) => reason)).toEqual(['allowed'])
  expect((await cheap).status).toBe(200)
  await new Promise(setImmediate)
  expect(observed.decisions.length).toBeLessThan(50)
  for (const { status } of await Promise.all(costly)) expect(status).toBe(403)
})

test.each([
  ['its deadline has passed', { ...FREE_CALL, deadline: NOW * 1000 }],
  ['it is cancelled', { ...FREE_CALL, isCancelled: () => true }],
])('a check whose turn comes when %s is refused without being judged', async (_, call) => {
  const { check, observed } = routes()
  await check({ headers, key: COSTLY })
  observed.decisions.length = 0
  observed.lines.length = 0
  expect((await check({ headers, key: COSTLY }, call)).status).toBe(503)
  expect(observed.decisions.map(({ reason }) => reason)).toEqual(['deadline'])
  expect(JSON.stringify(observed.lines)).not.toContain('budget')
})

test('a check that throws in its turn is refused, and the next ones have theirs', async () => {
  let fails = false
  const now = (): number => {
    if (fails) throw new Error('no clock')
    return NOW * 1000
  }
  const { check } = routes({ now })
  await check({ headers, key: COSTLY })
  const waiting = [check({ headers, key: COSTLY }), check({ headers, key: COSTLY })]
  fails = true
  for (const each of waiting) expect((await each).status).toBe(503)
  fails = false
  expect((await check({ headers, key: COSTLY })).status).toBe(403)
})
