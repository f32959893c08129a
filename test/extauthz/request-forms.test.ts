// How a request may carry its token, and which paths are checked: one row per form that servers interpret differently.

import { beforeAll, describe, expect, test } from 'vitest'
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
let good: string

beforeAll(async () => {
  key = await signingKey()
  good = await sign(key)
})

describe('the Authorization header', () => {
  const rows: [string, (token: string) => [string, string][], number][] = [
    ['lower-case scheme', (t) => [['authorization', `bearer ${t}`]], 200],
    ['upper-case scheme', (t) => [['authorization', `BEARER ${t}`]], 200],
    ['upper-case name', (t) => [['Authorization', `Bearer ${t}`]], 200],
    [
      'two headers, both good',
      (t) => [
        ['authorization', `Bearer ${t}`],
        ['authorization', `Bearer ${t}`],
      ],
      401,
    ],
    [
      'two headers, the first good',
      (t) => [
        ['authorization', `Bearer ${t}`],
        ['authorization', 'Bearer x.y.z'],
      ],
      401,
    ],
    [
      'two headers, the last good',
      (t) => [
        ['authorization', 'Bearer x.y.z'],
        ['authorization', `Bearer ${t}`],
      ],
      401,
    ],
    [
      'two headers, in other letters',
      (t) => [
        ['authorization', `Bearer ${t}`],
        ['AUTHORIZATION', `Bearer ${t}`],
      ],
      401,
    ],
    [
      'two headers, the second empty',
      (t) => [
        ['authorization', `Bearer ${t}`],
        ['authorization', ''],
      ],
      401,
    ],
    ['two tokens', (t) => [['authorization', `Bearer ${t} ${t}`]], 401],
    [
      'two tokens, as Envoy joins headers',
      (t) => [['authorization', `Bearer ${t},Bearer ${t}`]],
      401,
    ],
    ['a token and a parameter', (t) => [['authorization', `Bearer ${t}, realm="x"`]], 401],
    ['another scheme', (t) => [['authorization', `Basic ${t}`]], 401],
    ['the scheme twice', (t) => [['authorization', `Bearer Bearer ${t}`]], 401],
    ['no scheme', (t) => [['authorization', t]], 401],
    ['the scheme alone', () => [['authorization', 'Bearer']], 401],
    ['an empty header', () => [['authorization', '']], 401],
    ['a tab after the scheme', (t) => [['authorization', `Bearer\t${t}`]], 401],
    ['a newline after the token', (t) => [['authorization', `Bearer ${t}\n`]], 401],
    ['a NUL after the token', (t) => [['authorization', `Bearer ${t}\u0000`]], 401],
    ['more than 16 KiB', (t) => [['authorization', `Bearer ${t}${'A'.repeat(16 * 1024)}`]], 401],
    ['a megabyte', () => [['authorization', `Bearer ${'A'.repeat(1 << 20)}`]], 401],
    ['the token in another header', (t) => [['x-authorization', `Bearer ${t}`]], 401],
  ]
  test.each(rows)('%s', async (_name, headers, expected) => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    expect((await check({ headers: headers(good) })).status).toBe(expected)
  })

  test('may be 16 KiB long, and no longer', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    const ofLength = async (length: number): Promise<[string, string][]> => {
      const empty = (await sign(key, { pad: '' })).length
      const token = await sign(key, { pad: 'x'.repeat(Math.floor(((length - empty) * 3) / 4)) })
      return [['authorization', `Bearer ${token}`]]
    }
    expect((await check({ headers: await ofLength(16_300) })).status).toBe(200)
    expect((await check({ headers: await ofLength(16_400) })).status).toBe(401)
  })

  test('reads the joined form of the headers too', async () => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    expect((await check({ raw: false, headers: [bearer(good)] })).status).toBe(200)
    expect(
      (await check({ raw: false, headers: [['authorization', `Bearer ${good},Bearer ${good}`]] }))
        .status,
    ).toBe(401)
  })
})

describe('paths', () => {
  const rows: [string, number][] = [
    ['/mcp', 200],
    ['/mcp/', 200],
    ['/mcp/tools?x=1;y=2', 200],
    ['/mcp?next=//evil/..', 200],
    ['/mcp#x', 200],
    ['/mcpfoo', 403],
    ['/', 403],
    ['/other', 403],
    ['/MCP', 403],
    ['', 400],
    ['*', 400],
    ['mcp', 400],
    ['http://gw.example/mcp', 400],
    ['/mcp;jsessionid=1', 400],
    ['/mcp/;/x', 400],
    ['/mcp/..;/admin', 400],
    ['/mcp/../admin', 400],
    ['/mcp/..', 400],
    ['/mcp/./x', 400],
    ['/mcp/%2e%2e/admin', 400],
    ['/mcp/%2E./admin', 400],
    ['/mcp/.%2e', 400],
    ['/mcp//x', 400],
    ['//mcp', 400],
    ['/mcp%2fadmin', 400],
    ['/mcp%5Cadmin', 400],
    ['/mcp\\admin', 400],
    ['/mcp%00', 400],
    ['/mcp\u0000', 400],
    ['/mcp\r\n', 400],
    ['/mcp x', 400],
    ['/mcp/...', 200],
    ['/mcp/.well-known', 200],
    ['/mcp/a%2eb', 200],
  ]
  test.each(rows)('%j: %i', async (path, expected) => {
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)) })])
    expect((await check({ path, headers: [bearer(good)] })).status).toBe(expected)
  })

  test.each([
    ['Exact', '/mcp', '/mcp', 200],
    ['Exact', '/mcp', '/mcp/', 403],
    ['Exact', '/mcp', '/mcp/x', 403],
    ['PathPrefix', '/', '/anything', 200],
    ['PathPrefix', '/a/b', '/a/b/c', 200],
    ['PathPrefix', '/a/b', '/a', 403],
    ['RegularExpression', '/v[0-9]+/x', '/v1/x', 200],
    ['RegularExpression', '/v[0-9]+/x', '/v1/x?y=1', 200],
    ['RegularExpression', '/v[0-9]+/x', '/v1/xy', 403],
    ['RegularExpression', '/v[0-9]+/x', '/a/v1/x', 403],
    ['RegularExpression', '/a|/b', '/b', 200],
    ['RegularExpression', '/a|/b', '/bc', 403],
    ['RegularExpression', '(?i)/a', '/A', 200],
    ['RegularExpression', '/(?=x)', '/x', 403],
  ] as const)('%s %s against %s: %i', async (type, value, path, expected) => {
    const { check } = checker([entry({ paths: [{ type, value }] })])
    expect((await check({ path })).status).toBe(expected)
  })

  test('a long path against an expensive pattern is refused for its costs, not looked at for long', async () => {
    const value = `/(${'(a?b?){9}'.repeat(5)})*c`
    const { check } = checker([entry({ paths: [{ type: 'RegularExpression', value }] })])
    expect((await check({ path: `/${'ab'.repeat(15)}c` })).status).toBe(200)
    expect((await check({ path: `/${'ab'.repeat(60_000)}c` })).status).toBe(403)
  })

  test('an entry without paths answers for none', async () => {
    expect((await checker([entry({ paths: [] })]).check({})).status).toBe(403)
  })
})
