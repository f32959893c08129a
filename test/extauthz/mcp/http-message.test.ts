// Bodies and headers of MCP's HTTP transport become the calls that rules are evaluated for, or a 400.

import { describe, expect, test } from 'vitest'
import { type McpRequest, readMcpRequest } from '../../../src/extauthz/mcp/http-message.js'
import { problemBody } from '../../../src/extauthz/mcp/mcp-problem.js'
import { atOnce } from '../../../src/kit/turns.js'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

interface Sent {
  readonly method?: string
  readonly headers?: Headers
  readonly body?: string | Uint8Array | object
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const MODERN = '2026-07-28'

const bytesOf = (body: Sent['body']): Uint8Array =>
  body === undefined
    ? new Uint8Array()
    : body instanceof Uint8Array
      ? body
      : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

function read({ method = 'POST', headers = {}, body }: Sent): McpRequest | string {
  const all = method === 'POST' ? { 'content-type': 'application/json', ...headers } : headers
  const given = Object.entries(all).filter(([, value]) => value !== undefined)
  const map = new Map(given as [string, string | readonly string[]][])
  const result = atOnce(readMcpRequest({ method, headers: map, body: bytesOf(body) }))
  return result.ok ? result.value : problemBody(result.error)
}

/** [code, id] of a refusal. */
function refused(sent: Sent): readonly [number, unknown] | 'read' {
  const result = read(sent)
  if (typeof result !== 'string') return 'read'
  const { error, id } = JSON.parse(result) as { error: { code: number }; id: unknown }
  return [error.code, id]
}

/** Per call: method, tool, prompt, resource. */
function asked(sent: Sent): unknown {
  const result = read(sent)
  if (typeof result === 'string') return result
  return result.calls.map(({ method, toolName, promptName, resourceUri }) =>
    [method, toolName, promptName, resourceUri].join(' ').trimEnd(),
  )
}

/** Longer than a name, a method or a URI may be. */
const LONG = 'x'.repeat(16_385)

const call = (name: unknown = 'x', more: object = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: { a: 1 }, ...more },
})
const rpc = (method: string, params?: unknown, more: object = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
  ...more,
})

describe('what a message asks for', () => {
  test.each<[string, object, string[]]>([
    ['a tool', call('x'), ['tools/call x']],
    ['a prompt', rpc('prompts/get', { name: 'p' }), ['prompts/get  p']],
    ['a resource', rpc('resources/read', { uri: 'file:///a' }), ['resources/read   file:///a']],
    ['a subscription', rpc('resources/subscribe', { uri: 'u' }), ['resources/subscribe   u']],
    [
      'several resources to listen to: each of them',
      rpc('subscriptions/listen', { notifications: { resourceSubscriptions: ['a', 'b'] } }),
      ['subscriptions/listen   a', 'subscriptions/listen   b'],
    ],
    ['none', rpc('subscriptions/listen', { notifications: {} }), ['subscriptions/listen']],
    [
      'the completion of a prompt',
      rpc('completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: {} }),
      ['completion/complete  p'],
    ],
    [
      'the completion of a resource',
      rpc('completion/complete', { ref: { type: 'ref/resource', uri: 'u' }, argument: {} }),
      ['completion/complete   u'],
    ],
    ['the name of another method', rpc('tools/list', { name: 'x' }), ['tools/list']],
    ['no params', rpc('ping'), ['ping']],
    ['null for params', rpc('ping', null), ['ping']],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/x' }, ['notifications/x']],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, ['']],
    ['an error', { jsonrpc: '2.0', id: null, error: { code: 1, message: 'm' } }, ['']],
  ])('%s', (_what, body, calls) => {
    expect(asked({ body })).toEqual(calls)
  })

  test.each(['GET', 'DELETE', 'HEAD', 'OPTIONS', 'PUT'])('%s without a body: nothing', (method) => {
    expect(asked({ method })).toEqual([''])
  })

  test('the version is that of _meta, or of initialize', () => {
    const version = (body: object, headers: Headers = {}): unknown => {
      const result = read({ body, headers })
      return typeof result === 'string' ? result : result.calls[0]?.protocolVersion
    }
    expect(version(rpc('initialize', { protocolVersion: '2025-11-25' }))).toBe('2025-11-25')
    expect(version(call('x', { _meta: { [VERSION]: '2025-11-25' } }))).toBe('2025-11-25')
    expect(version(call(), { 'mcp-protocol-version': '2025-11-25' })).toBe('')
  })
})

describe('a body that could be read in two ways is 400', () => {
  const text = JSON.stringify(call('x'))
  const PARSE = [-32_700, null] as const
  const INVALID = [-32_600, null] as const
  test.each<[string, Sent['body'], readonly [number, unknown]]>([
    ['nothing', '', PARSE],
    ['no JSON', '{', PARSE],
    ['a byte order mark', `\ufeff${text}`, PARSE],
    ['garbage behind it', `${text}x`, PARSE],
    ['a second message behind it', `${text}\n${text}`, PARSE],
    ['a member twice', text.replace('"name"', '"name":"y","name"'), PARSE],
    ['a member twice, once escaped', text.replace('"name"', '"n\\u0061me":"y","name"'), PARSE],
    ['bytes that are not UTF-8', Buffer.from(text.replace('x', '\xff'), 'latin1'), PARSE],
    ['UTF-16', Buffer.from(text, 'utf16le'), PARSE],
    ['NaN', text.replace('1}', 'NaN}'), PARSE],
    ['a comment', `/**/${text}`, PARSE],
    ['depth', `${'['.repeat(200)}${']'.repeat(200)}`, PARSE],
    ['more values than are read', `[${'{},'.repeat(60_000)}{}]`, PARSE],
    ['a member in another case', text.replace('"name"', '"NAME":"y","name"'), INVALID],
    ['a method in another case', text.replace('"method"', '"Method"'), INVALID],
    ['a method with a NUL behind it', text.replace('call"', 'call\\u0000"'), [-32_600, 1]],
    ['a member with a NUL in its name', text.replace('"id"', '"method\\u0000":"x","id"'), INVALID],
    ['a member with half a character', text.replace('"id"', '"\\ud800method":"x","id"'), INVALID],
    ['a tool with a NUL', text.replace('"x"', '"x\\u0000y"'), [-32_602, 1]],
    ['a resource with half a character', rpc('resources/read', { uri: 'a\ud800' }), [-32_602, 1]],
    ['an id that is a fraction', text.replace('1', '1.5'), INVALID],
    ['an id beyond 64 bits', text.replace('1', '9223372036854775808'), INVALID],
    ['an id with half a character', text.replace('1', '"\\udc00"'), INVALID],
    ['a scalar', '1', INVALID],
    ['no version', { id: 1, method: 'ping' }, [-32_600, 1]],
    ['a method that is none', { jsonrpc: '2.0', id: 1, method: '' }, [-32_600, 1]],
    ['a method and a result', { ...rpc('ping'), result: {} }, [-32_600, 1]],
    ['an id that is null', { jsonrpc: '2.0', id: null, method: 'ping' }, INVALID],
    ['an answer without an id', { jsonrpc: '2.0', result: {} }, INVALID],
    ['params that are a list', rpc('tools/call', ['x']), [-32_602, 1]],
    ['no name', rpc('tools/call', {}), [-32_602, 1]],
    ['no params', rpc('tools/call'), [-32_602, 1]],
    ['a name that is no string', call(['x']), [-32_602, 1]],
    ['arguments that are a list', call('x', { arguments: [] }), [-32_602, 1]],
    ['no URI', rpc('resources/read', { name: 'x' }), [-32_602, 1]],
    ['a reference to nothing', rpc('completion/complete', { ref: { type: 'x' } }), [-32_602, 1]],
    [
      'a subscription to no string',
      rpc('subscriptions/listen', { notifications: { resourceSubscriptions: [1, 2] } }),
      [-32_602, 1],
    ],
    ['a method that is too long', rpc(LONG), [-32_600, 1]],
    ['a tool that is too long', call(LONG), [-32_602, 1]],
    ['a prompt that is too long', rpc('prompts/get', { name: LONG }), [-32_602, 1]],
    ['a resource that is too long', rpc('resources/read', { uri: LONG }), [-32_602, 1]],
    ['a resource of a new method', rpc('resources/x', { uri: LONG }), [-32_602, 1]],
    ['a name of a new method', rpc('x/y', { name: LONG }), [-32_602, 1]],
    ['a task that is too long', rpc('tasks/get', { taskId: LONG }), [-32_602, 1]],
    [
      'a subscription that is too long',
      rpc('subscriptions/listen', { notifications: { resourceSubscriptions: [LONG] } }),
      [-32_602, 1],
    ],
    [
      'the completion of a prompt that is too long',
      rpc('completion/complete', { ref: { type: 'ref/prompt', name: LONG } }),
      [-32_602, 1],
    ],
    ['half a character in an argument', call('x', { arguments: { a: '\ud800' } }), [-32_600, 1]],
    [
      'half a character in a batch',
      JSON.stringify([call('x', { arguments: { a: '\udfff' } })]),
      INVALID,
    ],
    ['an empty batch', '[]', INVALID],
    ['a batch of a scalar', '[1]', INVALID],
  ])('%s', (_what, body, refusal) => {
    expect(refused({ body: body ?? '' })).toEqual(refusal)
  })

  test('a tool of the longest name is read', () => {
    expect(refused({ body: call(LONG.slice(1)) })).toBe('read')
  })

  test.each<[string, Headers]>([
    ['no Content-Type', { 'content-type': undefined }],
    ['two', { 'content-type': ['application/json', 'application/json'] }],
    ['two in one', { 'content-type': 'application/json, text/plain' }],
    ['another', { 'content-type': 'text/plain' }],
    ['another charset', { 'content-type': 'application/json; charset=utf-7' }],
    ['two charsets', { 'content-type': 'application/json; charset=utf-8; charset=utf-16' }],
    ['compression', { 'content-encoding': 'gzip' }],
    ['two encodings', { 'content-encoding': ['identity', 'gzip'] }],
    ['an upgrade', { upgrade: 'websocket' }],
    ['more bytes announced than are there', { 'content-length': String(text.length + 1) }],
  ])('%s', (_what, headers) => {
    expect(refused({ headers, body: text })).toMatchObject([expect.any(Number), null])
  })

  test.each([
    'application/json',
    'application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
  ])('%s is read', (type) => {
    expect(refused({ headers: { 'content-type': type }, body: text })).toBe('read')
  })

  test.each(['GET', 'DELETE', 'PUT', 'PATCH'])('%s with a body', (method) => {
    expect(refused({ method, body: text })).toEqual(INVALID)
  })
})

describe('headers and the body agree', () => {
  const body = call('x', { _meta: { [VERSION]: MODERN } })
  const complete = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': 'x' }
  const MISMATCH = [-32_020, 1]

  test(`${MODERN}: all of them`, () => {
    expect(refused({ headers: complete, body })).toBe('read')
  })

  test.each<[string, Headers]>([
    ['no method', { ...complete, 'mcp-method': undefined }],
    ['another method', { ...complete, 'mcp-method': 'tools/list' }],
    ['a method in another case', { ...complete, 'mcp-method': 'Tools/Call' }],
    ['two methods', { ...complete, 'mcp-method': ['tools/call', 'tools/call'] }],
    ['no name', { ...complete, 'mcp-name': undefined }],
    ['another name', { ...complete, 'mcp-name': 'y' }],
    ['another encoded name', { ...complete, 'mcp-name': '=?base64?eQ==?=' }],
    ['a name with bytes beyond ASCII', { ...complete, 'mcp-name': 'x\u00e9' }],
    ['no version', { ...complete, 'mcp-protocol-version': undefined }],
    ['another version', { ...complete, 'mcp-protocol-version': '2025-11-25' }],
    ['nothing', {}],
  ])(`${MODERN}: %s is a mismatch`, (_what, headers) => {
    expect(refused({ headers, body })).toEqual(MISMATCH)
  })

  test.each([
    ['x', '=?base64?eA==?='],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ])('the name %s may be encoded', (name, header) => {
    const headers = { ...complete, 'mcp-name': header }
    expect(refused({ headers, body: call(name, { _meta: { [VERSION]: MODERN } }) })).toBe('read')
  })

  test.each(['=?base64?literal!?=', '=?base64?eA=?=', '=?base64?e-_A?=', '=?base64?/w==?='])(
    'the name %s must be encoded, as it looks like an encoded one',
    (name) => {
      const named = call(name, { _meta: { [VERSION]: MODERN } })
      expect(refused({ headers: { ...complete, 'mcp-name': name }, body: named })).toEqual(MISMATCH)
    },
  )

  test('a version in _meta that is empty', () => {
    const empty = call('x', { _meta: { [VERSION]: '' } })
    expect(refused({ headers: complete, body: empty })).toEqual(MISMATCH)
  })

  test('a version in the header alone', () => {
    expect(refused({ headers: complete, body: call() })).toEqual(MISMATCH)
  })

  test.each<[string, Headers, 'read' | readonly number[]]>([
    ['none', {}, 'read'],
    ['a version', { 'mcp-protocol-version': '2025-11-25' }, 'read'],
    ['the same', { 'mcp-method': 'tools/call', 'mcp-name': 'x' }, 'read'],
    ['another name', { 'mcp-name': 'y' }, MISMATCH],
    ['another method', { 'mcp-method': 'tools/list' }, MISMATCH],
    ['the first of all versions', { 'mcp-protocol-version': '2024-10-07' }, 'read'],
  ])('older versions: %s', (_what, headers, result) => {
    expect(refused({ headers, body: call() })).toEqual(result)
  })

  test.each<[string, object, string, 'read' | readonly number[]]>([
    ['a list', rpc('tools/list'), 'y', MISMATCH],
    ['a list', rpc('tools/list', {}), 'y', MISMATCH],
    ['a response', { jsonrpc: '2.0', id: 1, result: {} }, 'y', MISMATCH],
    ['a task', rpc('tasks/get', { taskId: 't' }), 't', 'read'],
    ['a task', rpc('tasks/cancel', { taskId: 't' }), 'y', MISMATCH],
    ['a task with a name', rpc('tasks/get', { taskId: 't', name: 'y' }), 'y', MISMATCH],
  ])('%s %o with the name %s', (_what, body, name, result) => {
    expect(refused({ headers: { 'mcp-name': name }, body })).toEqual(result)
  })

  test.each<[string | undefined, string | undefined, 'read' | readonly number[]]>([
    ['2025-11-25', undefined, 'read'],
    ['2025-11-25', '2025-11-25', 'read'],
    ['2025-11-25', '2025-06-18', MISMATCH],
    [undefined, '2025-06-18', 'read'],
  ])('initialize of version %s with the header %s', (protocolVersion, version, result) => {
    const headers = { 'mcp-protocol-version': version }
    expect(refused({ headers, body: rpc('initialize', { protocolVersion }) })).toEqual(result)
  })

  test('a notification needs none, and must not contradict them either', () => {
    const notification = { jsonrpc: '2.0', method: 'notifications/x' }
    const headers = { 'mcp-protocol-version': MODERN }
    expect(refused({ headers, body: notification })).toBe('read')
    expect(refused({ headers: { 'mcp-method': 'tools/call' }, body: notification })).toEqual([
      -32_020,
      null,
    ])
  })
})

describe('a batch', () => {
  const body = [call('x'), call('y'), rpc('ping')]

  test('asks for each of its messages', () => {
    expect(asked({ body })).toEqual(['tools/call x', 'tools/call y', 'ping'])
    const headers = { 'mcp-protocol-version': '2025-03-26' }
    expect(refused({ headers, body })).toBe('read')
  })

  test('of too many messages is 400', () => {
    const many = (count: number) => Array.from({ length: count }, () => rpc('ping'))
    expect(asked({ body: many(1000) })).toHaveLength(1000)
    expect(refused({ body: many(1001) })).toEqual([-32_600, null])
  })

  test.each<[string, Headers, object]>([
    ['of another version', { 'mcp-protocol-version': '2025-06-18' }, body],
    ['of a later version', { 'mcp-protocol-version': MODERN }, body],
    ['with a message of a later version', {}, [call('x', { _meta: { [VERSION]: MODERN } })]],
    ['with Mcp-Method', { 'mcp-method': 'ping' }, body],
    ['with Mcp-Name', { 'mcp-name': 'x' }, body],
  ])('%s is 400', (_what, headers, batch) => {
    expect(refused({ headers, body: batch })).toMatchObject([expect.any(Number), null])
  })
})
