// Regular expressions as paths of protected routes, through a real Envoy: a matching path needs a token, and a route
// whose expression cannot be compiled refuses its requests.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bearer } from '../support/http.js'
import { jwt, provider, sign } from '../support/protected-stack.js'
import { gateway, prefix, proxyPolicy } from '../support/resources.js'
import { newKey, type SigningKey } from '../support/tokens.js'
import { route, startTwoBackends, type TwoBackends, when } from '../support/two-backends.js'

const pattern = (value: string): object => ({ path: { type: 'RegularExpression', value } })

let key: SigningKey
let world: TwoBackends

beforeAll(async () => {
  key = await newKey('k1')
  const jwtAuthentication = jwt([key])
  world = await startTwoBackends((port) => [
    gateway([port]),
    route('open', 'shop.example', when(prefix('/'), 'a'), when(prefix('/bad/open'), 'a')),
    route('locked', 'shop.example', when(pattern('/v[0-9]+/orders(/.*)?'), 'b')),
    proxyPolicy('locked', 'locked', { jwtAuthentication }),
    route('bad', 'shop.example', when(pattern('/bad/(?=x).*'), 'b')),
    proxyPolicy('bad', 'bad', { jwtAuthentication }),
    route('worse', 'worse.example', when(pattern('/.*(?=x)'), 'b')),
    proxyPolicy('worse', 'worse', { jwtAuthentication }),
    route('files', 'worse.example', when(prefix('/files'), 'a')),
    route('mcp', 'mcp.example', when(pattern('/.*'), 'b')),
    proxyPolicy('mcp', 'mcp', {
      jwtAuthentication: {
        providers: [provider([key], { audiences: ['mcp'] })],
        mcp: {
          provider: 'IdpTwo',
          resourceMetadata: { resource: 'http://mcp.example/tools' },
        },
      },
    }),
  ])
})
afterAll(() => world.close())

describe('a protected pattern', () => {
  test.each([
    ['/v1/orders', 401],
    ['/v22/orders/7?x=/v', 401],
    ['/v1/ordersx', 'a'],
    ['/v1//orders', 401],
    ['/x/../v1/orders', 401],
    ['/v1/%6frders', 401],
    ['/v1/orders%2fx', 400],
    ['/v1/orders;x', 400],
  ])('%s without a token: %s', async (path, expected) => {
    expect(await world.whoAnswers('shop.example', path)).toBe(expected)
  })

  test('lets a token in', async () => {
    const headers = bearer(await sign(key))
    expect(await world.whoAnswers('shop.example', '/v1/orders/7', { headers })).toBe('b')
  })
})

describe('a protected pattern that Envoy cannot compile', () => {
  test.each([
    ['shop.example', '/bad/x', 500],
    ['shop.example', '/bad/open', 500],
    ['shop.example', '/badly', 'a'],
    ['worse.example', '/x', 500],
    ['worse.example', '/files/x', 'a'],
  ])('%s%s: %s', async (host, path, expected) => {
    const headers = bearer(await sign(key))
    expect(await world.whoAnswers(host, path, { headers })).toBe(expected)
  })

  test('is named in the condition of its route', async () => {
    const bad = (await world.stack.status()).find(({ name }) => name === 'bad')
    expect(bad?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Accepted',
        status: 'False',
        reason: 'UnsupportedValue',
        message: expect.stringMatching(
          /^rules\[0\]: path "\/bad\/\(\?=x\)\.\*": expected a regular expression of RE2/,
        ) as string,
      }),
    )
  })
})

describe('an MCP route whose path is a pattern', () => {
  test('serves its documents without a token', async () => {
    const path = '/.well-known/oauth-protected-resource/tools'
    const { status, body } = await world.ask('mcp.example', path)
    expect(status).toBe(200)
    expect(JSON.parse(body)).toMatchObject({ resource: 'http://mcp.example/tools' })
  })

  test.each(['/tools', '/.well-known/oauth-protected-resource/other', '/.well-known/x'])(
    '%s needs a token',
    async (path) => {
      expect(await world.whoAnswers('mcp.example', path)).toBe(401)
    },
  )
})
