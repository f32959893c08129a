// Rules about MCP messages in a check: each message is evaluated, and anything that is not a message gets 400.

import { describe, expect, test } from 'vitest'
import { createBodyLine } from '../../src/extauthz/body-line.js'
import type { Authorization } from '../../src/model/authorization.js'
import { countTurns } from '../support/count-turns.js'
import { checker, entry, FREE_CALL, NOW, type TestAnswer, type TestRequest } from './helpers.js'

const rules = (parts: Partial<Authorization>): Authorization => ({
  deny: [],
  require: [],
  allow: [],
  ...parts,
})

const call = (name: string, args: object = {}, id: unknown = 1): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

const JSON_TYPE = ['content-type', 'application/json'] as const

const post = (body: object | string, more: Partial<TestRequest> = {}): TestRequest => ({
  headers: [JSON_TYPE],
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
})

function checking(parts: Partial<Authorization>): (request: TestRequest) => Promise<TestAnswer> {
  const { check } = checker([entry({ authorization: rules(parts) })])
  return check
}

const errorOf = ({ body }: TestAnswer): unknown => JSON.parse(body)

describe('one message', () => {
  const check = checking({ deny: ['mcp.tool.name == "rm"'] })

  test('a tool that is allowed, one that is not, and no tool', async () => {
    expect((await check(post(call('ls')))).status).toBe(200)
    const refused = await check(post(call('rm', {}, 'id-1')))
    expect([refused.status, refused.headers['content-type']]).toEqual([403, 'application/json'])
    expect(errorOf(refused)).toEqual({
      jsonrpc: '2.0',
      id: 'id-1',
      error: { code: -32_010, message: 'Forbidden: access to this resource is not allowed' },
    })
    expect((await check({ method: 'GET' })).status).toBe(200)
  })

  test('what is no message is a JSON-RPC error', async () => {
    const refused = await check(post('{'))
    expect([refused.status, refused.headers['content-type']]).toEqual([400, 'application/json'])
    expect(errorOf(refused)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_700 } })
    expect((await check({ method: 'POST', headers: [JSON_TYPE] })).status).toBe(400)
    expect((await check({ method: 'GET', body: '{}' })).status).toBe(400)
  })

  test('a body that Envoy has not sent yet: 503, to be tried again', async () => {
    const headers = [JSON_TYPE, ['content-length', '5']] as const
    const refused = await check({ method: 'POST', headers })
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1'])
  })
})

test.each([
  ['/mcp/..%2fx', { jsonrpc: '2.0', id: null, error: { code: -32_600 } }],
  ['/mcp;x', { jsonrpc: '2.0', id: null, error: { code: -32_600 } }],
])('the path %s: 400 with an error of JSON-RPC', async (path, body) => {
  const refused = await checking({ deny: ['mcp.tool.name == "rm"'] })({ ...post(call('x')), path })
  expect([refused.status, JSON.parse(refused.body)]).toMatchObject([400, body])
})

test('on a route with OAuth documents too, if no rule reads messages', async () => {
  const { check } = checker([entry({})])
  const refused = await check({ path: '/mcp;x' })
  expect([refused.status, errorOf(refused)]).toMatchObject([400, { error: { code: -32_600 } }])
})

describe('what rules read', () => {
  test.each<[string, object, number]>([
    ['mcp.method == "tools/call"', call('x'), 200],
    ['mcp.tool.arguments.path.startsWith("/tmp/")', call('x', { path: '/tmp/a' }), 200],
    ['mcp.tool.arguments.path.startsWith("/tmp/")', call('x', { path: '/etc/a' }), 403],
    ['mcp.tool.arguments.path.startsWith("/tmp/")', call('x'), 403],
    ['mcp.tool.arguments.n == 9007199254740993', call('x', {}), 403],
    [
      'has(mcp.tool.arguments.a) && mcp.tool.arguments.a.b[0] == 1',
      call('x', { a: { b: [1] } }),
      200,
    ],
    ['mcp.id == 7', call('x', {}, 7), 200],
    ['mcp.id == "7"', call('x', {}, '7'), 200],
    ['mcp.prompt.name == "" && mcp.resource.uri == ""', call('x'), 200],
    ['mcp.protocolVersion == ""', call('x'), 200],
  ])('%s', async (rule, body, status) => {
    expect((await checking({ require: [rule] })(post(body))).status).toBe(status)
  })

  test.each<[string, object, number]>([
    ['mcp.tool.arguments.path == "a"', { path: 'a', PATH: 'b' }, 403],
    ['!has(mcp.tool.arguments.path)', { Path: 'b' }, 403],
    ['mcp.tool.arguments.?path.orValue("a") == "a"', { Path: 'b' }, 403],
    ['default(mcp.tool.arguments.path, "a") == "a"', { Path: 'b' }, 403],
    ['!("path" in mcp.tool.arguments)', { Path: 'b' }, 403],
    ['mcp.tool.arguments == {"path": "a"}', { Path: 'a' }, 403],
    ['mcp.tool.arguments.list[0].path == "a"', { list: [{ path: 'a', pAth: 'b' }] }, 403],
    ['mcp.tool.arguments.filePath == "a"', { filePath: 'a', Other: 1 }, 200],
    ['!has(mcp.tool.arguments.filePath)', { filepath: 'b' }, 403],
    ['!("filePath" in mcp.tool.arguments)', { filepath: 'b' }, 403],
    ['default(mcp.tool.arguments.filePath, "a") == "a"', { filepath: 'b' }, 403],
    ['mcp.tool.arguments.exists(name, name == "Path")', { Path: 'a' }, 200],
    ['mcp.tool.arguments == {"Path": "a"}', { Path: 'a' }, 200],
  ])('an argument in another spelling fails a rule that reads it: %s of %j', async (...row) => {
    const [rule, args, status] = row
    expect((await checking({ require: [rule] })(post(call('x', args)))).status).toBe(status)
    const denied = (await checking({ deny: [`!(${rule})`] })(post(call('x', args)))).status
    expect(denied).toBe(status)
  })

  test('whole numbers of arguments are exact', async () => {
    const body = JSON.stringify(call('x', { n: 'N' })).replace('"N"', '9007199254740993')
    const status = async (n: string): Promise<number> =>
      (await checking({ require: [`mcp.tool.arguments.n == ${n}`] })(post(body))).status
    expect([await status('9007199254740993'), await status('9007199254740992')]).toEqual([200, 403])
  })

  test('whole numbers of ids are exact', async () => {
    const body = JSON.stringify(call('x', {}, 'N')).replace('"N"', '9007199254740993')
    const status = async (id: string): Promise<number> =>
      (await checking({ require: [`mcp.id == ${id}`] })(post(body))).status
    expect([await status('9007199254740993'), await status('9007199254740992')]).toEqual([200, 403])
  })

  test('one rule after the other sees its own request', async () => {
    const check = checking({ allow: ['mcp.tool.name == "a" && mcp.tool.arguments.n == 1'] })
    const statuses = []
    for (const body of [
      call('a', { n: 1 }),
      call('b', { n: 1 }),
      call('a', { n: 2 }),
      call('a', { n: 1 }),
    ])
      statuses.push((await check(post(body))).status)
    expect(statuses).toEqual([200, 403, 403, 200])
  })
})

describe('several messages', () => {
  test('each of a batch must be allowed', async () => {
    const check = checking({ deny: ['mcp.tool.name == "rm"'] })
    expect((await check(post([call('a'), call('b')]))).status).toBe(200)
    const refused = await check(post([call('a'), call('rm')]))
    expect([refused.status, errorOf(refused)]).toMatchObject([403, { id: null }])
  })

  test('each resource that is listened to must be allowed', async () => {
    const check = checking({ allow: ['mcp.resource.uri.startsWith("file:///open/")'] })
    const listen = (...resourceSubscriptions: string[]): object => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { notifications: { resourceSubscriptions } },
    })
    expect((await check(post(listen('file:///open/a')))).status).toBe(200)
    expect((await check(post(listen('file:///open/a', 'file:///b')))).status).toBe(403)
    expect((await check(post(listen()))).status).toBe(403)
  })

  test('share one budget', async () => {
    const rule = 'mcp.tool.arguments.list.all(x, x > 0)'
    const { check, observed } = checker([entry({ authorization: rules({ require: [rule] }) })], {
      ruleBudget: { steps: 2_000, bytes: 1_000_000 },
    })
    const list = Array.from({ length: 150 }, () => 1)
    expect((await check(post(call('a', { list })))).status).toBe(200)
    expect(
      (await check(post([call('a', { list }), call('b', { list }), call('c', { list })]))).status,
    ).toBe(403)
    expect(observed.decisions.map(({ reason }) => reason)).toEqual(['allowed', 'rule-budget'])
  })
})

describe('a large body', () => {
  const COSTLY =
    'mcp.tool.name == "x" && ' +
    'mcp.tool.arguments.list.all(a, mcp.tool.arguments.list.all(b, a > 0)) && false'
  const LARGE = post(call('rm', { list: Array.from({ length: 20_000 }, () => ({ a: 1 })) }))
  const authorization = rules({ deny: ['mcp.tool.name == "rm"'] })

  test('is read in slices, and judged as a small one', async () => {
    const { check } = checker([entry({ authorization })])
    const { result, turns } = await countTurns(() => check(LARGE))
    expect(result.status).toBe(403)
    expect(turns).toBeGreaterThan(1)
  })

  test('whose check was cancelled, or is late, is not let in', async () => {
    const { check } = checker([entry({ authorization: rules({ deny: ['mcp.tool.name == "y"'] }) })])
    expect((await check(LARGE)).status).toBe(200)
    expect((await check(LARGE, { isCancelled: () => true, deadline: Infinity })).status).toBe(503)
    expect((await check(LARGE, { ...FREE_CALL, deadline: NOW * 1000 })).status).toBe(503)
  })

  test('is read no further once its client has left, and keeps no place in the line', async () => {
    const { check } = checker([entry({ authorization })])
    const alone = await countTurns(() => check(LARGE))
    let hasLeft = false
    const leaving = { ...FREE_CALL, isCancelled: () => hasLeft }
    const left = Array.from({ length: 67 }, () => check(LARGE, leaving))
    hasLeft = true
    const { result, turns } = await countTurns(() => check(LARGE))
    expect(result.status).toBe(403)
    expect(turns).toBeLessThan(3 * alone.turns)
    expect(new Set((await Promise.all(left)).map(({ status }) => status))).toEqual(new Set([503]))
  })

  test('for rules that cost much waits for a turn again once it is read', async () => {
    const { check, observed } = checker([entry({ authorization: rules({ deny: [COSTLY] }) })])
    expect(
      (await check(post(call('x', { list: Array.from({ length: 60 }, () => 1) })))).status,
    ).toBe(200)
    let asked = 0
    const leavingAt = (last: number) => ({
      ...FREE_CALL,
      isCancelled: () => (asked += 1) === last,
    })
    expect((await check(LARGE, leavingAt(Infinity))).status).toBe(200)
    // It is asked at each step of the reading and, at last, after the turn behind it.
    const last = asked
    asked = 0
    expect((await check(LARGE, leavingAt(last))).status).toBe(503)
    expect(observed.decisions.map(({ reason }) => reason)).toEqual([
      'allowed',
      'allowed',
      'deadline',
    ])
  })

  test('that is broken at its end is 400', async () => {
    const { check } = checker([entry({ authorization })])
    const refused = await check({ ...LARGE, body: `${String(LARGE.body)}x` })
    expect([refused.status, errorOf(refused)]).toMatchObject([400, { error: { code: -32_700 } }])
  })

  test('more of them than are waited for: 503, to be tried again', async () => {
    const { check } = checker([entry({ authorization })])
    const answers = await Promise.all(Array.from({ length: 80 }, () => check(LARGE)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 403)).toHaveLength(68)
    const others = answers.filter(({ status }) => status === 503)
    expect(others.map(({ headers }) => headers['retry-after'])).toEqual(Array(12).fill('1'))
    expect((await check(LARGE)).status).toBe(403)
  })
})

test('a line gives its places on, whatever comes of those who had them', async () => {
  const line = createBodyLine(1, 1)
  const failing = line.run(() => Promise.reject(new Error('broken')))
  const waiting = line.run(() => Promise.resolve('read'))
  expect(line.run(() => Promise.resolve('no place'))).toBeUndefined()
  await expect(failing).rejects.toThrow('broken')
  expect([await waiting, await line.run(() => Promise.resolve('next'))]).toEqual(['read', 'next'])
})
