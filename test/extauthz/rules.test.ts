// What the rules of a route allow (decision 4).

import { CompactSign } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Authorization } from '../../src/model/authorization.js'
import {
  available,
  bearer,
  checker,
  CLAIMS,
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
    ...(
      [
        'request.headers["x-two"] == "admin"',
        'request.headers["x-two"] != "1"',
        'request.headers["x-two"] in ["admin", "root"]',
        'request.headers["x-two"] in {"admin": true}',
        '"admin" in [request.headers["x-two"]]',
        '[request.headers["x-two"]] == ["admin"]',
        '{"a": {"b": request.headers["x-two"]}} == {"a": {"b": "admin"}}',
        'default({"admin": true}[request.headers["x-two"]], false)',
        'cel.bind(two, request.headers["x-two"], two == jwt.sub)',
        'default(request.headers["x-two"], "") == "admin"',
        'request.headers.exists(name, request.headers[name] == "admin")',
        'size(request.headers["x-two"]) > 100',
        'request.headers["x-two"].size() == 5',
      ] as const
    ).map((source): (typeof rows)[number] => [
      `a header sent twice beside a string, under Deny: ${source}`,
      { deny: [source] },
      'token',
      403,
    ]),
    [
      'a header sent twice, and what is in it',
      { deny: ['"3" in request.headers["x-two"]'], allow: ['"2" in request.headers["x-two"]'] },
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

describe('rules that cost too much', () => {
  const groups = Array.from({ length: 400 }, (_, i) => `group-${i}`)
  const loops = 'jwt.groups.all(a, jwt.groups.all(b, jwt.groups.all(c, a + b != c)))'

  test.each([
    ['deny', { deny: [loops] }, 'deny[0]'],
    ['require', { require: ['true', loops] }, 'require[1]'],
    ['allow, whatever stands behind it', { allow: [loops, 'true'] }, 'allow[0]'],
  ] as [string, Partial<Authorization>, string][])(
    'refuse the request, and say so: %s',
    async (_name, rules, rule) => {
      const authorization = { deny: [], require: [], allow: [], ...rules }
      const { check, observed } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
      const token = await sign(key, { groups })
      for (let i = 0; i < 2; i++)
        expect((await check({ headers: [bearer(token)] })).status).toBe(403)
      expect(observed.decisions.map(({ reason }) => reason)).toEqual(['rule-budget', 'rule-budget'])
      const warnings = observed.lines.filter((line) => JSON.stringify(line).includes('exceeded'))
      expect(warnings).toEqual([
        {
          route: 'default/mcp',
          rule,
          leftOut: 0,
          message: 'the rules of a route exceeded their budget; the request was denied',
        },
      ])
    },
  )

  test('together, each by itself being cheap', async () => {
    const deny = Array<string>(1000).fill('!jwt.groups.all(a, a != "x")')
    const authorization = { deny, require: [], allow: [] }
    const { check, observed } = checker([entry({ jwt: jwt(available(key.jwk)), authorization })])
    const token = await sign(key, { groups })
    expect((await check({ headers: [bearer(token)] })).status).toBe(403)
    expect(observed.decisions[0]?.reason).toBe('rule-budget')
  })

  test('by the budget that was set', async () => {
    const authorization = { deny: [], require: ['jwt.groups.all(a, a != "x")'], allow: [] }
    const entries = [entry({ jwt: jwt(available(key.jwk)), authorization })]
    const headers = [bearer(await sign(key, { groups }))]
    const small = checker(entries, { ruleBudget: { steps: 1000, bytes: 1e6 } })
    expect((await small.check({ headers })).status).toBe(403)
    expect((await checker(entries).check({ headers })).status).toBe(200)
  })
})

describe('rules that read the token alone', () => {
  test('are decided for each token, and for each route', async () => {
    const rules = (group: string) => ({
      deny: [],
      require: [`"${group}" in jwt.groups`],
      allow: [],
    })
    const authentication = jwt(available(key.jwk))
    const { check } = checker([
      entry({ jwt: authentication, authorization: rules('eng') }),
      entry({ key: 'default/mcp/1', jwt: authentication, authorization: rules('ops') }),
    ])
    const [eng, ops] = [await sign(key, { groups: ['eng'] }), await sign(key, { groups: ['ops'] })]
    const status = async (token: string, route: number) =>
      (await check({ key: `default/mcp/${route}`, headers: [bearer(token)] })).status
    for (let i = 0; i < 3; i++)
      expect([
        await status(eng, 0),
        await status(eng, 1),
        await status(ops, 0),
        await status(ops, 1),
      ]).toEqual([200, 403, 403, 200])
  })

  test('and those that read more for each request', async () => {
    const require = ['"eng" in jwt.groups && request.headers["x-team"] == "red"']
    const { check } = checker([
      entry({ jwt: jwt(available(key.jwk)), authorization: { deny: [], require, allow: [] } }),
    ])
    const token = bearer(await sign(key, { groups: ['eng'] }))
    for (const [team, status] of [
      ['red', 200],
      ['blue', 403],
      ['red', 200],
    ] as const)
      expect((await check({ headers: [token, ['x-team', team]] })).status).toBe(status)
  })
})
