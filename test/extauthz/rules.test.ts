// What the rules of a route let in (decision 4).

import { CompactSign } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Authorization } from '../../src/ir/authz-entry.js'
import {
  available,
  bearer,
  checker,
  CLAIMS,
  entry,
  jwt,
  sign,
  signingKey,
  type SigningKey,
} from './helpers.js'

let key: SigningKey

beforeAll(async () => {
  key = await signingKey()
})

describe('rules', () => {
  const rows: [string, Partial<Authorization>, 'token' | 'no token', number][] = [
    ['no rules', {}, 'token', 200],
    ['an Allow that is true', { allow: ['"mcp-users" in jwt.groups'] }, 'token', 200],
    ['an Allow that is false', { allow: ['"admins" in jwt.groups'] }, 'token', 403],
    ['one Allow of two', { allow: ['"admins" in jwt.groups', 'jwt.sub == "alice"'] }, 'token', 200],
    ['an Allow that fails', { allow: ['jwt.nope == "x"'] }, 'token', 403],
    ['an Allow that is no boolean', { allow: ['jwt.sub'] }, 'token', 403],
    ['a Deny that is true', { deny: ['jwt.sub == "alice"'] }, 'token', 403],
    ['a Deny that is false', { deny: ['jwt.sub == "bob"'] }, 'token', 200],
    ['a Deny that fails refuses', { deny: ['jwt.nope == "x"'] }, 'token', 403],
    ['a Deny that is no boolean refuses', { deny: ['jwt.sub'] }, 'token', 403],
    ['a Deny goes before an Allow', { deny: ['true'], allow: ['true'] }, 'token', 403],
    ['every Require is needed', { require: ['true', 'jwt.sub == "bob"'] }, 'token', 403],
    ['all Requires are true', { require: ['true', 'jwt.sub == "alice"'] }, 'token', 200],
    ['a Require that fails', { require: ['jwt.nope == "x"'] }, 'token', 403],
    ['a Require goes before an Allow', { require: ['false'], allow: ['true'] }, 'token', 403],
    ['without a token jwt is null', { allow: ['jwt == null'] }, 'no token', 200],
    ['without a token a claim is an error', { allow: ['jwt.sub != "bob"'] }, 'no token', 403],
    [
      'the method and the path',
      { allow: ['request.method == "POST" && request.path == "/mcp"'] },
      'token',
      200,
    ],
    ['a header', { allow: ['request.headers["x-team"] == "blue"'] }, 'token', 200],
    ['all headers', { allow: ['request.headers.exists(h, h == "x-team")'] }, 'token', 200],
    [
      'a header sent twice is a list',
      { allow: ['request.headers["x-two"] == ["1", "2"]'] },
      'token',
      200,
    ],
    [
      "the client's address",
      { allow: ['cidr("10.0.0.0/8").containsIP(source.address)'] },
      'token',
      200,
    ],
  ]
  test.each(rows)('%s', async (_name, rules, token, status) => {
    const authorization = { deny: [], require: [], allow: [], ...rules }
    const authentication = jwt(available(key.jwk), { mode: 'Optional' })
    const { check } = checker([entry({ jwt: authentication, authorization })])
    const text = await sign(key, { groups: ['mcp-users'] })
    const answer = await check({
      address: '10.1.2.3',
      headers: [
        ...(token === 'token' ? [bearer(text)] : []),
        ['x-team', 'blue'],
        ['x-two', '1'],
        ['x-two', '2'],
      ],
    })
    expect(answer.status).toBe(status)
  })

  test.each([
    ['9007199254740993', 200],
    ['9007199254740992', 403],
  ])('an id beyond 2^53 is no other: %s', async (allowed, status) => {
    const authorization = { deny: [], require: [], allow: [`jwt.id == ${allowed}`] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    const claims = JSON.stringify(CLAIMS).replace('{', '{"id":9007199254740993,')
    const token = await new CompactSign(Buffer.from(claims))
      .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
      .sign(key.privateKey)
    expect((await check({ headers: [bearer(token)] })).status).toBe(status)
  })

  test('a refusal is a plain 403: no challenge that would begin another login', async () => {
    const authorization = { deny: [], require: [], allow: ['false'] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    const answer = await check({ headers: [bearer(await sign(key))] })
    expect(answer.status).toBe(403)
    expect(answer.headers).toEqual({ 'content-type': 'application/json' })
    expect(JSON.parse(answer.body)).toMatchObject({ error: 'forbidden' })
  })

  test('a rule that does not compile refuses everybody', async () => {
    const authorization = { deny: [], require: [], allow: ['true', 'jwt.sub =='] }
    const { check } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    expect((await check({ headers: [bearer(await sign(key))] })).status).toBe(500)
  })

  test('authorization alone leaves Authorization as it is', async () => {
    const authorization = { deny: [], require: [], allow: ['request.method == "POST"'] }
    const { check } = checker([entry({ authorization })])
    const answer = await check({ headers: [['authorization', 'Basic eDp5']] })
    expect(answer.status).toBe(200)
    expect(answer.removed).not.toContain('authorization')
  })
})
