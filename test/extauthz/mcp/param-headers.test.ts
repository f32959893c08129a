// Headers Mcp-Param-…: a request whose header contradicts the arguments is 400 before rules and webhooks, however many
// arguments there are.

import { describe, expect, test } from 'vitest'
import { readMcpRequest } from '../../../src/extauthz/mcp/http-message.js'
import { atOnce } from '../../../src/kit/turns.js'
import { checker, entry } from '../helpers.js'

type Headers = Readonly<Record<string, string | readonly string[]>>

const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

/** given: JSON text of the arguments. */
const call = (given: string): string =>
  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":${given}}}`

function read(body: string, headers: Headers): string {
  const all = new Map(Object.entries({ 'content-type': 'application/json', ...headers }))
  const request = atOnce(readMcpRequest({ method: 'POST', headers: all, body: Buffer.from(body) }))
  if (request.ok) return 'read'
  expect(request.error.code).toBe('header-mismatch')
  return request.error.message
}

const GIVEN = `{
  "region": "eu", "userId": "u-1", "note": "süß", "empty": "", "n": 42, "big": 9007199254740993,
  "price": 1.50, "yes": true, "none": null, "list": ["in-a-list"], "Deep": { "limit": 10, "zone": "a" },
  "looks": "=?base64?eA==?=", "card": "4111111111111111"
}`

describe('a header agrees with the arguments if it repeats', () => {
  test.each<[string, Headers]>([
    ['a text', { 'mcp-param-region': 'eu' }],
    ['a text under another name', { 'mcp-param-where': 'eu' }],
    ['a text under its name with dashes', { 'mcp-param-user-id': 'u-1' }],
    ['an encoded text', { 'mcp-param-note': encoded('süß') }],
    ['an encoded text of ASCII', { 'mcp-param-region': encoded('eu') }],
    ['a text that looks encoded', { 'mcp-param-looks': encoded('=?base64?eA==?=') }],
    ['an empty text', { 'mcp-param-empty': '' }],
    ['a number', { 'mcp-param-n': '42' }],
    ['an equal number', { 'mcp-param-n': '42.0' }],
    ['a fraction', { 'mcp-param-price': '1.5' }],
    ['a number beyond 2^53', { 'mcp-param-big': '9007199254740993' }],
    ['a boolean', { 'mcp-param-yes': 'true' }],
    ['a text of digits', { 'mcp-param-card': '4111111111111111' }],
    ['a number of a member of a member', { 'mcp-param-limit': '10' }],
    ['several', { 'mcp-param-zone': 'a', 'mcp-param-n': '42' }],
  ])('%s', (_what, headers) => {
    expect(read(call(GIVEN), headers)).toBe('read')
  })
})

describe('a header contradicts the arguments if it says', () => {
  test.each<[string, Headers]>([
    ['another text', { 'mcp-param-region': 'us' }],
    ['a text in another case', { 'mcp-param-region': 'EU' }],
    ['a text of another argument', { 'mcp-param-region': 'u-1' }],
    ['a text of another argument, under its own name with dashes', { 'mcp-param-user-id': 'eu' }],
    ['a text of another argument, as its own is null', { 'mcp-param-none': 'eu' }],
    ['null', { 'mcp-param-none': 'null' }],
    ['another number', { 'mcp-param-n': '43' }],
    ['a number of JavaScript', { 'mcp-param-n': '0x2a' }],
    ['a number that is rounded to it', { 'mcp-param-big': '9007199254740992' }],
    ['another boolean', { 'mcp-param-yes': 'false' }],
    ['an item of a list', { 'mcp-param-item': 'in-a-list' }],
    ['the name of an argument', { 'mcp-param-item': 'region' }],
    ['the name of the tool', { 'mcp-param-item': 'x' }],
    ['the same twice', { 'mcp-param-region': ['eu', 'eu'] }],
    ['bytes beyond ASCII', { 'mcp-param-note': 'süß' }],
    ['no base64', { 'mcp-param-note': '=?base64?s!?=' }],
    ['no UTF-8', { 'mcp-param-note': '=?base64?/w==?=' }],
    ['one right and one wrong', { 'mcp-param-region': 'eu', 'mcp-param-n': '1' }],
  ])('%s', (_what, headers) => {
    expect(read(call(GIVEN), headers)).toMatch(/^Header mismatch: mcp-param-[a-z-]+ repeats no/)
  })

  test.each<[string, string]>([
    ['a call without arguments', call('{}')],
    ['a call with null', call('null')],
    ['another method', '{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"eu"}}'],
    ['a response', '{"jsonrpc":"2.0","id":7,"result":{"a":"eu"}}'],
    ['a batch', `[${call('{"a":"eu"}')}]`],
  ])('anything of %s', (_what, body) => {
    expect(read(body, { 'mcp-param-a': 'eu' })).toContain('Header mismatch: mcp-param-a')
  })
})

test('many arguments and headers are compared in slices, each argument once', () => {
  const many = Array.from({ length: 20_000 }, (_, index) => `"a${index}":${index}`)
  const headers = Object.fromEntries(
    Array.from({ length: 100 }, (_, index) => [`mcp-param-b${index}`, String(19_900 + index)]),
  )
  const all = new Map(Object.entries({ 'content-type': 'application/json', ...headers }))
  const body = Buffer.from(call(`{${many.join()}}`))
  const slices = (sent: ReadonlyMap<string, string>): number => {
    const work = readMcpRequest({ method: 'POST', headers: sent, body })
    let count = 0
    for (;;) {
      const step = work.next()
      if (step.done === true) {
        expect(step.value.ok).toBe(true)
        return count
      }
      count += 1
    }
  }
  const without = slices(new Map([['content-type', 'application/json']]))
  expect(slices(all)).toBeGreaterThan(without)
})

test('rules are not asked about such a request: 400', async () => {
  const authorization = { deny: ['mcp.tool.arguments.region == "us"'], require: [], allow: [] }
  const { check } = checker([entry({ authorization })])
  const statusOf = async (name: string, value: string): Promise<number> => {
    const headers = [
      ['content-type', 'application/json'],
      [name, value],
    ] as const
    return (await check({ headers, body: call(GIVEN) })).status
  }
  expect(await statusOf('Mcp-Param-Region', 'eu')).toBe(200)
  expect(await statusOf('Mcp-Param-Region', 'us')).toBe(400)
  expect(await statusOf('mcp-param-', 'us')).toBe(400)
  expect(await statusOf('mcp-para', 'us')).toBe(200)
})
