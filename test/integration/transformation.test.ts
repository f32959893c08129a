// traffic.transformation through Envoy: what a backend and a client receive, and what happens to headers that a client
// forges.

import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Answer, bearer, send } from '../support/http.js'
import {
  jwt,
  protectedRoute,
  type ProtectedStack,
  provider,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import { CORS_FILTER, httpRoute, mcpRoute, proxyPolicy, rule } from '../support/resources.js'
import { newKey } from '../support/tokens.js'

const ours = await newKey('k1')

const request = {
  set: { 'X-User': 'jwt.sub', 'x-groups': 'jwt.groups.join(" ")', 'x-path': 'request.path' },
  add: { 'x-tag': 'jwt.tag', 'x-groups': 'jwt.tag' },
  remove: ['X-Debug'],
}
const response = {
  set: { 'x-served-to': 'jwt.sub', 'x-tier': 'jwt.tier' },
  remove: ['X-Powered-By'],
}
const transformation = { request, response }

let stack: ProtectedStack

beforeAll(async () => {
  const filters = [
    CORS_FILTER,
    {
      type: 'ResponseHeaderModifier',
      responseHeaderModifier: { set: [{ name: 'x-powered-by', value: 'the route' }] },
    },
  ]
  stack = await startProtectedStack(
    [
      httpRoute('mcp', { rules: [rule('/mcp', 'backend', { filters })] }),
      proxyPolicy('mcp', 'mcp', { jwtAuthentication: jwt([ours]), transformation }),
    ],
    [
      mcpRoute('server', 'backend', '/server'),
      proxyPolicy('server', 'server', {
        jwtAuthentication: {
          providers: [provider([ours], { audiences: ['mcp'] })],
          mcp: { clientId: 'mcp', resourceMetadata: { resource: 'https://mcp.example/server' } },
        },
        transformation,
      }),
    ],
    protectedRoute('optional', {
      jwtAuthentication: jwt([ours], { mode: 'Permissive' }),
      transformation,
    }),
    protectedRoute('public', { transformation }),
    protectedRoute('limited', {
      jwtAuthentication: jwt([ours]),
      transformation,
      rateLimit: { local: [{ requests: 1, per: '1h', key: 'jwt.sub' }] },
    }),
  )
})
afterAll(() => stack.close())
beforeEach(() => {
  stack.backend.answer((_, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain' }).end('backend')
  })
})

const CLAIMS = { aud: 'mcp', sub: 'ann', groups: ['a', 'b'], tag: 'red', tier: 'gold' }

async function call(
  name: string,
  claims?: object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const token = claims === undefined ? {} : bearer(await sign(ours, claims))
  return send(stack.origin, `/${name}`, { headers: { ...token, ...headers } })
}

const received = (): Record<string, unknown> => stack.backend.requests.at(-1)?.headers ?? {}

describe('a request', () => {
  test('carries the values of the expressions', async () => {
    expect((await call('mcp', CLAIMS, { 'x-debug': '1', 'x-tag': 'own' })).status).toBe(200)
    expect(received()).toMatchObject({ 'x-user': 'ann', 'x-path': '/mcp', 'x-tag': 'red' })
    expect(received()).not.toHaveProperty('x-debug')
  })

  test('has the values that are set and added, and none of the client', async () => {
    await call('mcp', CLAIMS, { 'x-groups': 'wheel', 'x-tag': 'own' })
    expect(received()).toMatchObject({ 'x-groups': 'a b,red', 'x-tag': 'red' })
    await call('mcp', { ...CLAIMS, groups: undefined }, { 'x-groups': 'wheel' })
    expect(received()['x-groups']).toBe('red')
    await call('mcp', { ...CLAIMS, tag: undefined }, { 'x-groups': 'wheel', 'x-tag': 'own' })
    expect(received()['x-groups']).toBe('a b')
    expect(received()).not.toHaveProperty('x-tag')
  })

  test.each(['x-user', 'X-USER', 'X-User'])(
    "carries no %s of the client's, once or twice",
    async (name) => {
      const { authorization = '' } = bearer(await sign(ours, CLAIMS))
      const headers = ['authorization', authorization, name, 'root', name.toLowerCase(), 'admin']
      await send(stack.origin, '/mcp', { headers })
      expect(received()['x-user']).toBe('ann')
    },
  )

  test("with all the headers that Envoy takes carries no such header of the client's", async () => {
    const { authorization = '' } = bearer(await sign(ours, CLAIMS))
    for (let count = 85; count <= 100; count++) {
      const seen = stack.backend.requests.length
      const filler = Array.from({ length: count }, (_, index) => [`x-f-${String(index)}`, 'f'])
      const headers = [...filler.flat(), 'authorization', authorization, 'x-user', 'root']
      await send(stack.origin, '/mcp', { headers })
      const [request] = stack.backend.requests.slice(seen)
      expect(request?.headers['x-user'] ?? 'ann').toBe('ann')
    }
  })

  test('that names the header in Connection carries it all the same', async () => {
    await call('mcp', CLAIMS, { connection: 'close, x-user', 'x-user': 'root' })
    expect(received()['x-user']).toBe('ann')
    expect(received()).not.toHaveProperty('connection')
  })

  test('with another spelling of the name is refused', async () => {
    const seen = stack.backend.requests.length
    for (const name of ['x_user', 'X_USER'])
      expect((await call('mcp', CLAIMS, { [name]: 'root' })).status).toBe(400)
    expect(stack.backend.requests).toHaveLength(seen)
  })

  test.each<[string, string, object | undefined]>([
    ['without the claim', 'mcp', { sub: undefined }],
    ['whose claim is a list', 'mcp', { sub: undefined, groups: ['a', ['b']] }],
    ['without a token', 'optional', undefined],
    ['on a route that asks for no token', 'public', undefined],
    ['on such a route with a token that nobody looks at', 'public', CLAIMS],
  ])('%s has no such header', async (_what, name, claims) => {
    const forged = { 'x-user': 'root', 'x-groups': 'wheel', 'x-tag': 'own' }
    expect((await call(name, claims, forged)).status).toBe(200)
    for (const header of Object.keys(forged)) expect(received()).not.toHaveProperty(header)
    expect(received()['x-path']).toBe(`/${name}`)
  })

  test.each<[string, string]>([
    ['a line break', 'ann\r\nx-admin: 1'],
    ['a line feed', 'ann\nx-admin: 1'],
    ['a NUL', 'ann\0'],
    ['a blank at its end', 'ann '],
    ['a blank before it', '\u00a0ann'],
    ['2,049 bytes', 'é'.repeat(1024) + 'a'],
    ['nothing', ''],
    ['half a character', 'ann\ud800'],
  ])('whose claim has %s has no such header', async (_what, sub) => {
    expect((await call('mcp', { ...CLAIMS, sub }, { 'x-user': 'root' })).status).toBe(200)
    expect(received()).not.toHaveProperty('x-user')
    expect(received()).not.toHaveProperty('x-admin')
    expect(received()['x-groups']).toBe('a b,red')
  })

  test('may carry text beyond ASCII, and a comma', async () => {
    const sub = 'Ægir, o’ð 漢字'
    await call('mcp', { ...CLAIMS, sub })
    expect(Buffer.from(String(received()['x-user']), 'latin1').toString()).toBe(sub)
  })

  test('of OPTIONS that is no preflight has no header of the client', async () => {
    const { authorization = '' } = bearer(await sign(ours, { sub: undefined }))
    const headers = { authorization, 'x-user': 'root', origin: 'https://app.example' }
    const answer = await send(stack.origin, '/mcp', { method: 'OPTIONS', headers })
    expect(answer.status).toBe(200)
    expect(received()).not.toHaveProperty('x-user')
  })

  test('that is a preflight reaches no backend', async () => {
    const seen = stack.backend.requests.length
    for (const origin of ['https://app.example', 'null'])
      await send(stack.origin, '/mcp', {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'GET', 'x-user': 'root' },
      })
    expect(stack.backend.requests).toHaveLength(seen)
  })

  test('with trailers brings no header in them', async () => {
    const { authorization = '' } = bearer(await sign(ours, { sub: undefined }))
    const session = connect(stack.origin)
    const stream = session.request(
      { ':method': 'POST', ':path': '/mcp', authorization },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'x-user': 'root' })
    })
    stream.end('{}')
    await text(stream)
    session.close()
    expect(received()).not.toHaveProperty('x-user')
  })
})

test('a request for a document of an MCP route reaches no backend', async () => {
  const seen = stack.backend.requests.length
  const root = '/.well-known/oauth-protected-resource/server'
  for (const path of [root, `${root}/x`, '/.well-known/oauth-authorization-server/server']) {
    await send(stack.origin, path, { headers: { 'x-user': 'root' } })
    await send(stack.origin, path, { method: 'OPTIONS', headers: { 'x-user': 'root' } })
  }
  expect(stack.backend.requests).toHaveLength(seen)
  expect((await call('server', CLAIMS, { 'x-user': 'root' })).status).toBe(200)
  expect(received()['x-user']).toBe('ann')
})

test('no expression is in the config dump, and no claim in the log', async () => {
  expect((await call('mcp', { ...CLAIMS, sub: 'somebody' })).status).toBe(200)
  const { body } = await send(stack.admin, '/config_dump')
  expect(body).toContain('"x-user"')
  expect(body).not.toMatch(/jwt\.(sub|groups|tag|tier)/)
  // The line of a request that is refused comes after whatever an answered one would leave.
  const refused = await call('mcp')
  expect(refused.status).toBe(401)
  const id = String(refused.headers['x-request-id'])
  await eventually(() => expect(stack.log()).toContain(id))
  expect(stack.log() + stack.output()).not.toContain('somebody')
})

describe('an answer', () => {
  beforeEach(() => {
    stack.backend.answer((_, reply) => {
      reply
        .writeHead(200, { 'x-powered-by': 'php', 'x-served-to': 'nobody', 'x-tier': 'silver' })
        .end('backend')
    })
  })

  test('carries the values of the expressions, and not what is removed', async () => {
    const { headers } = await call('mcp', CLAIMS)
    expect(headers).toMatchObject({ 'x-served-to': 'ann', 'x-tier': 'gold' })
    expect(headers).not.toHaveProperty('x-powered-by')
  })

  test("without a value has not the backend's own either", async () => {
    const { headers, status } = await call('public')
    expect(status).toBe(200)
    expect(headers).not.toHaveProperty('x-served-to')
    expect(headers).not.toHaveProperty('x-tier')
  })

  test("of Envoy's own to a request that was let in has them too", async () => {
    await call('limited', CLAIMS)
    const { headers, status } = await call('limited', CLAIMS)
    expect(status).toBe(429)
    expect(headers['x-served-to']).toBe('ann')
  })

  test('to a request that was refused has nothing of its claims', async () => {
    const { headers, status } = await call('mcp', { ...CLAIMS, exp: 1 })
    expect(status).toBe(401)
    expect(headers).not.toHaveProperty('x-served-to')
  })
})
