// Scopes that a token must have: checked after the rules, all together, with a 403 that may begin a step-up (decision
// 7).

import { beforeAll, describe, expect, test } from 'vitest'
import type { Authorization, RequiredScopes } from '../../src/model/authorization.js'
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

const scopes = (list: string, more: Partial<RequiredScopes> = {}): RequiredScopes => ({
  scopes: list.split(' '),
  impliedBy: [],
  ...more,
})

const write = scopes('files:write', { when: 'mcp.tool.name == "write_file"', impliedBy: ['admin'] })
const audit = scopes('audit', { when: 'mcp.tool.name.startsWith("write_")' })

const call = (name: string): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name },
})

async function answer(
  parts: Partial<Authorization>,
  claims: object | undefined,
  body: object = call('write_file'),
  mode: 'Strict' | 'Optional' = 'Strict',
): Promise<TestAnswer> {
  const authorization = { deny: [], require: [], allow: [], ...parts }
  const entries = [entry({ authorization, jwt: jwt(available(key.jwk), { mode }) })]
  const headers: [string, string][] = [['content-type', 'application/json']]
  if (claims !== undefined) headers.push([...bearer(await sign(key, claims))])
  const request: TestRequest = { headers, body: JSON.stringify(body) }
  return checker(entries).check(request)
}

const status = async (...parts: Parameters<typeof answer>): Promise<number> =>
  (await answer(...parts)).status

describe('a token has them', () => {
  test.each<[string, object, number]>([
    ['in scope', { scope: 'files:write' }, 200],
    ['among others', { scope: 'openid  files:write x' }, 200],
    ['in scp, a list', { scp: ['files:write'] }, 200],
    ['in scp, a text', { scp: 'x files:write' }, 200],
    ['by one that implies it', { scope: 'admin' }, 200],
    ['not', { scope: 'files:read' }, 403],
    ['not by a part of one', { scope: 'files:write:all' }, 403],
    ['not by a list of something else', { scp: [{ name: 'files:write' }] }, 403],
    ['not at all', {}, 403],
  ])('%s', async (_what, claims, expected) => {
    expect(await status({ requiredScopes: [write] }, claims)).toBe(expected)
  })

  test('or the request does not need them', async () => {
    expect(await status({ requiredScopes: [write] }, {}, call('read_file'))).toBe(200)
  })

  test('all of one entry', async () => {
    const requiredScopes = [scopes('a b')]
    expect(await status({ requiredScopes }, { scope: 'a' })).toBe(403)
    expect(await status({ requiredScopes }, { scope: 'b a' })).toBe(200)
  })
})

describe('the 403', () => {
  const CHALLENGE =
    'Bearer error="insufficient_scope", scope="files:write audit", resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp", error_description="The token lacks a scope that this request needs"'

  test('names all scopes at once, and the client shows its body', async () => {
    const refused = await answer({ requiredScopes: [write, audit] }, { scope: 'files:write' })
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([403, CHALLENGE])
    expect(JSON.parse(refused.body)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32_010,
        message: 'Forbidden: the token lacks a scope; this request needs files:write audit',
      },
    })
  })

  test('of a batch names those of all its messages', async () => {
    const requiredScopes = [
      scopes('a', { when: 'mcp.tool.name == "a"' }),
      scopes('b', { when: 'mcp.tool.name == "b"' }),
    ]
    const refused = await answer({ requiredScopes }, {}, [call('a'), call('b')])
    expect(refused.headers['www-authenticate']).toContain('scope="a b"')
  })

  test('is as plain as its route where that is not of MCP', async () => {
    const refused = await answer({ requiredScopes: [scopes('a')] }, {})
    expect(JSON.parse(refused.body)).toEqual({
      error: 'insufficient_scope',
      error_description: 'Forbidden: the token lacks a scope; this request needs a',
    })
  })

  test('comes after the rules: no step-up ends in a refusal', async () => {
    const deny = ['mcp.tool.name == "write_file"']
    const refused = await answer({ deny, requiredScopes: [write] }, {})
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([403, undefined])
  })

  test('a when that fails counts against the caller', async () => {
    const requiredScopes = [scopes('a', { when: 'jwt.missing == "x"' })]
    expect(await status({ requiredScopes }, {})).toBe(403)
    expect(await status({ requiredScopes }, { scope: 'a' })).toBe(200)
  })
})

test('the same token gets the same answer again', async () => {
  const authorization = { deny: [], require: [], allow: [], requiredScopes: [scopes('a')] }
  const { check } = checker([entry({ authorization, jwt: jwt(available(key.jwk)) })])
  const good = bearer(await sign(key, { scope: 'a' }))
  const bad = bearer(await sign(key, { scope: 'b' }))
  const statuses = []
  for (const token of [bad, good, bad, good, bad])
    statuses.push((await check({ headers: [token] })).status)
  expect(statuses).toEqual([403, 200, 403, 200, 403])
})

describe('the 401', () => {
  const requiredScopes = [scopes('a'), scopes('b a'), write]
  const METADATA = 'resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"'

  test('names the scopes that every request needs', async () => {
    const refused = await answer({ requiredScopes }, undefined)
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([
      401,
      `Bearer ${METADATA}, scope="a b"`,
    ])
  })

  test('never offline_access', async () => {
    const refused = await answer({ requiredScopes: [scopes('offline_access')] }, undefined)
    expect(refused.headers['www-authenticate']).toBe(`Bearer ${METADATA}`)
  })

  test('is what a request without a token gets where none is needed otherwise', async () => {
    expect(await status({ requiredScopes }, undefined, call('x'), 'Optional')).toBe(401)
    expect(await status({ requiredScopes: [write] }, undefined, call('x'), 'Optional')).toBe(200)
  })
})
