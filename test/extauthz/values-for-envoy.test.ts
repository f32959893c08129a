// What a check tells Envoy about an allowed request: request and response headers, and rate limit keys.

import { hash } from 'node:crypto'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { lazyValue } from '../../src/extauthz/cel/attributes.js'
import { Budget } from '../../src/extauthz/cel/budget.js'
import { compileValues, computeValues } from '../../src/extauthz/values-for-envoy.js'
import type { AuthzEntry } from '../../src/model/authz-entry.js'
import type { Json } from '../../src/model/json.js'
import type { Transformation } from '../../src/model/transformation.js'
import { runs } from '../support/runs.js'
import {
  available,
  bearer,
  checker,
  entry,
  jwt,
  sign,
  type SigningKey,
  signingKey,
  type TestAnswer,
  type TestRequest,
} from './helpers.js'

let key: SigningKey

beforeAll(async () => {
  key = await signingKey()
})

type Expressions = Readonly<Record<string, string>>

const list = (expressions: Expressions = {}) =>
  Object.entries(expressions).map(([name, expression]) => ({ name, expression }))

function transformation(
  set: Expressions,
  more: { add?: Expressions; remove?: readonly string[]; answer?: Expressions } = {},
): Pick<AuthzEntry, 'transformation'> {
  const { add, remove = [], answer } = more
  const changed: Transformation = {
    request: { set: list(set), add: list(add), remove },
    response: { set: list(answer) },
  }
  return { transformation: changed }
}

const keys = (...expressions: readonly string[]): Pick<AuthzEntry, 'limitKeys'> => ({
  limitKeys: expressions.map((expression, index) => ({ index, expression })),
})

async function answer(
  parts: Partial<AuthzEntry>,
  claims: object | undefined = {},
  request: TestRequest = {},
): Promise<TestAnswer> {
  const { headers = [], ...rest } = request
  const token = [bearer(await sign(key, claims))]
  return checker([entry({ jwt: jwt(available(key.jwk)), ...parts })]).check({
    ...rest,
    headers: [...token, ...headers],
  })
}

const hashed = (value: string): string => hash('sha256', value, 'base64url')

describe('headers of a request', () => {
  test('replace what the client sent, or take it away', async () => {
    const { status, set, removed } = await answer(
      transformation({ 'x-user': 'jwt.sub', 'x-none': 'jwt.none' }, { remove: ['x-debug'] }),
    )
    expect(status).toBe(200)
    expect(set).toEqual([['x-user', 'alice', 'replaces']])
    expect(removed).toEqual(expect.arrayContaining(['x-debug', 'x-none', 'authorization']))
    expect(removed).not.toContain('x-user')
  })

  test('that are added replace what the client sent, or take it away', async () => {
    const parts = transformation({}, { add: { 'x-tag': 'jwt.sub', 'x-none': 'jwt.none' } })
    const sent = await answer(parts, {}, { headers: [['x-tag', 'own']] })
    expect(sent.set).toEqual([['x-tag', 'alice', 'replaces']])
    expect(sent.removed).toContain('x-none')
    expect(sent.removed).not.toContain('x-tag')
  })

  test.each<[string, object, readonly (readonly string[])[], boolean]>([
    [
      'both',
      { a: '1', b: '2' },
      [
        ['x-tag', '1', 'replaces'],
        ['x-tag', '2', 'appends'],
      ],
      false,
    ],
    ['the first alone', { a: '1' }, [['x-tag', '1', 'replaces']], false],
    ['the second alone', { b: '2' }, [['x-tag', '2', 'replaces']], false],
    ['neither', {}, [], true],
  ])('that are set and added have the values of %s', async (_what, claims, expected, isRemoved) => {
    const parts = transformation({ 'x-tag': 'jwt.a' }, { add: { 'x-tag': 'jwt.b' } })
    const { set, removed } = await answer(parts, claims, { headers: [['x-tag', 'own']] })
    expect(set).toEqual(expected)
    expect(removed.includes('x-tag')).toBe(isRemoved)
  })

  test.each<[string, unknown, string | undefined]>([
    ['a number', 7, '7'],
    ['a whole number beyond 2^53', 2 ** 60, String(2 ** 60)],
    ['a boolean', true, 'true'],
    ['a list', ['a'], undefined],
    ['a map', { a: 'a' }, undefined],
    ['null', null, undefined],
    ['nothing', '', undefined],
    ['2,048 bytes', 'é'.repeat(1024), 'é'.repeat(1024)],
    ['2,049 bytes', `${'é'.repeat(1024)}a`, undefined],
    ['a line break', 'a\r\nb: c', undefined],
    ['a line feed at its end', 'a\n', undefined],
    ['a tab', 'a\tb', undefined],
    ['DEL', 'a\u007f', undefined],
    ['NEL', 'a\u0085b', undefined],
    ['a blank at its end', 'a ', undefined],
    ['a no-break space before it', '\u00a0a', undefined],
    ['half a character', 'a\ud800', undefined],
    ['a blank within', 'a b', 'a b'],
    ['a percent sign', '%REQ(authorization)%', '%REQ(authorization)%'],
  ])('of %s', async (_what, claim, expected) => {
    const { set, removed } = await answer(transformation({ 'x-claim': 'jwt.claim' }), { claim })
    expect(set).toEqual(expected === undefined ? [] : [['x-claim', expected, 'replaces']])
    expect(removed.includes('x-claim')).toBe(expected === undefined)
  })

  test('are not of a request that is refused', async () => {
    const parts = transformation({ 'x-user': 'jwt.sub' }, { answer: { 'x-user': 'jwt.sub' } })
    const { status, headers } = await answer(parts, { exp: 1 })
    expect(status).toBe(401)
    expect(headers).not.toHaveProperty('x-user')
  })

  test('read what rules can read', async () => {
    const { set } = await answer(
      transformation({
        'x-path': 'request.path',
        'x-from': 'source.address',
        'x-team': 'request.headers["x-team"]',
      }),
      {},
      { address: '203.0.113.7', path: '/mcp?a=b', headers: [['x-team', 'red']] },
    )
    expect(set.toSorted()).toEqual([
      ['x-from', '203.0.113.7', 'replaces'],
      ['x-path', '/mcp', 'replaces'],
      ['x-team', 'red', 'replaces'],
    ])
  })

  test('may be of a route without tokens', async () => {
    const parts = { ...transformation({ 'x-user': 'jwt.sub', 'x-is': '"open"' }) }
    const { check } = checker([entry(parts)])
    const { status, set, removed } = await check({ headers: [] })
    expect(status).toBe(200)
    expect(set).toEqual([['x-is', 'open', 'replaces']])
    expect(removed).toContain('x-user')
  })
})

test('headers of an answer travel with it', async () => {
  const parts = transformation({}, { answer: { 'x-for': 'jwt.sub', 'x-none': 'jwt.none' } })
  const { answered, set } = await answer(parts)
  expect(answered).toEqual([['x-for', 'alice', 'replaces']])
  expect(set).toEqual([])
})

test('whatever a claim is, its header is one line that nobody trims, or none', () => {
  const compiled = compileValues(transformation({ 'x-claim': 'jwt.claim' }))
  if (compiled === undefined) throw new Error('no expressions')
  const claims = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r', '\0', 'a', 'é', '\ud800', '\u2028') }),
    fc.jsonValue({ maxDepth: 2 }),
  )
  fc.assert(
    fc.property(claims, (claim) => {
      const jwt = lazyValue({ claim: claim as Json })
      const values = computeValues(compiled, { jwt }, new Budget())
      const [[, value] = []] = values.requestSet
      expect(values.requestRemove).toEqual(value === undefined ? ['x-claim'] : [])
      if (value === undefined) return
      expect(value).toBe(value.trim())
      expect(value).toMatch(/^[^\u0000-\u001f\u007f-\u009f]{1,2048}$/)
      expect(Buffer.from(value).toString()).toBe(value)
    }),
    { numRuns: runs(2000) },
  )
})

describe('keys of limits', () => {
  test('are hashed, each by the place of its limit', async () => {
    const { metadata } = await answer(keys('jwt.sub', 'jwt.none', 'request.method'))
    expect(metadata?.['limits']).toEqual({ 'limit-0': hashed('alice'), 'limit-2': hashed('POST') })
    expect(metadata?.['jwt']).toMatchObject({ sub: 'alice' })
  })

  test('are of one length, also for a value of 10,000 characters, and differ with it', async () => {
    const of = async (sub: string): Promise<unknown> =>
      (await answer(keys('jwt.sub'), { sub })).metadata?.['limits']
    const [a, b] = [await of('a'.repeat(10_000)), await of(`${'a'.repeat(9_999)}b`)]
    expect(a).toEqual({ 'limit-0': hashed('a'.repeat(10_000)) })
    expect(a).not.toEqual(b)
  })

  test.each(['["a"]', '{"a":"b"}', 'null'])('a claim of %s is none', async (claim) => {
    const { metadata } = await answer(keys('jwt.claim'), { claim: JSON.parse(claim) as unknown })
    expect(metadata?.['limits']).toEqual({})
  })
})

describe('expressions', () => {
  test('of the token alone are computed once for a token and a route', async () => {
    const parts = { ...transformation({ 'x-user': 'jwt.sub' }), ...keys('jwt.sub') }
    const other = { ...transformation({ 'x-user': 'jwt.iss' }), key: 'default/mcp/1' }
    const authentication = jwt(available(key.jwk))
    const { check } = checker([
      entry({ jwt: authentication, ...parts }),
      entry({ jwt: authentication, ...other }),
    ])
    const headers = [bearer(await sign(key))]
    const first = await check({ headers })
    const second = await check({ headers, key: 'default/mcp/1' })
    expect(await check({ headers })).toEqual(first)
    expect(second.set).not.toEqual(first.set)
    expect(second.metadata).not.toHaveProperty('limits')
  })

  test('that cost too much have no value, and say so once', async () => {
    const costly = 'jwt.list.map(a, jwt.list.map(b, a + b)).size() > 0 ? "x" : "y"'
    const parts = { ...transformation({ 'x-a': costly, 'x-b': 'jwt.sub' }), ...keys('jwt.sub') }
    const { check, observed } = checker([entry({ jwt: jwt(available(key.jwk)), ...parts })])
    const claims = { list: Array.from({ length: 600 }, (_, i) => `entry ${String(i)}`) }
    const headers = [bearer(await sign(key, claims))]
    for (let i = 0; i < 2; i++) {
      const { status, set, removed, metadata } = await check({ headers })
      expect(status).toBe(200)
      expect(set).toEqual([])
      expect(removed).toEqual(expect.arrayContaining(['x-a', 'x-b']))
      expect(metadata?.['limits']).toEqual({ 'limit-0': hashed('alice') })
    }
    const lines = observed.lines.filter((line) => JSON.stringify(line).includes('budget'))
    expect(lines).toEqual([
      {
        route: 'default/mcp',
        leftOut: 0,
        message:
          'the header values and limit keys of a route exceeded their budget; the remaining ones have no value',
      },
    ])
    expect(JSON.stringify(observed.lines)).not.toContain('entry 1')
  })

  test('that are none refuse every request', async () => {
    for (const parts of [transformation({ 'x-a': 'jwt.' }), keys('mcp.method')]) {
      const { check, observed } = checker([entry({ jwt: jwt(available(key.jwk)), ...parts })])
      expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(500)
      expect(observed.decisions[0]?.reason).toBe('broken-policy')
    }
  })
})

test('a route with neither is answered as it was', async () => {
  const { metadata, set, answered } = await answer({})
  expect(Object.keys(metadata ?? {})).toEqual(['jwt'])
  expect([set, answered]).toEqual([[], []])
})
