// Filters and timeouts of HTTPRoutes through the whole product: their effect on requests and answers.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Request } from '../support/http.js'
import { backendRef, gateway, prefix } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends, when } from '../support/two-backends.js'

const modified = (filter: object): object => ({ filters: [filter] })
const requestHeaders = (requestHeaderModifier: object): object => ({
  type: 'RequestHeaderModifier',
  requestHeaderModifier,
})
const responseHeaders = (responseHeaderModifier: object): object => ({
  type: 'ResponseHeaderModifier',
  responseHeaderModifier,
})
const rewrite = (urlRewrite: object): object => ({ type: 'URLRewrite', urlRewrite })
const redirect = (name: string, requestRedirect: object): object => ({
  matches: [prefix(name)],
  filters: [{ type: 'RequestRedirect', requestRedirect }],
})

const redirectForPages = [
  {
    type: 'CORS',
    cors: {
      allowOrigins: ['https://app.example', 'https://*.apps.example'],
      allowMethods: ['PUT'],
      allowHeaders: ['*'],
      exposeHeaders: ['*'],
      allowCredentials: true,
    },
  },
  { type: 'RequestRedirect', requestRedirect: { hostname: 'other.example' } },
]

const filters = (): object =>
  route(
    'filters',
    'filters.example',
    when(
      prefix('/request'),
      'a',
      modified(
        requestHeaders({
          set: [{ name: 'x-set', value: 'ours' }],
          add: [{ name: 'x-add', value: 'ours' }],
          remove: ['x-remove'],
        }),
      ),
    ),
    when(
      prefix('/response'),
      'a',
      modified(
        responseHeaders({
          set: [{ name: 'x-set', value: 'ours' }],
          add: [{ name: 'x-add', value: 'ours' }],
          remove: ['x-remove'],
        }),
      ),
    ),
    {
      matches: [prefix('/of-backend')],
      backendRefs: [
        { ...backendRef('a'), filters: [requestHeaders({ set: [{ name: 'x-set', value: 'a' }] })] },
      ],
    },
    when(
      prefix('/replace'),
      'a',
      modified(rewrite({ path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' } })),
    ),
    when(
      prefix('/full'),
      'a',
      modified(rewrite({ path: { type: 'ReplaceFullPath', replaceFullPath: '/all' } })),
    ),
    when(prefix('/host'), 'a', modified(rewrite({ hostname: 'backend.example' }))),
    redirect('/to-https', { scheme: 'https', statusCode: 301 }),
    redirect('/to-host', { hostname: 'other.example', port: 8443, statusCode: 302 }),
    redirect('/to-path', { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/there' } }),
    when(
      prefix('/cors'),
      'a',
      modified({
        type: 'CORS',
        cors: {
          allowOrigins: ['https://app.example'],
          allowMethods: ['GET', 'PUT'],
          allowHeaders: ['X-A'],
          exposeHeaders: ['X-B'],
          maxAge: 60,
        },
      }),
    ),
    { matches: [prefix('/to-page')], filters: redirectForPages },
    { matches: [{ ...prefix('/to-page/put'), method: 'PUT' }], filters: redirectForPages },
    when(prefix('/slow'), 'a', { timeouts: { request: '200ms' } }),
    when(prefix('/slow-backend'), 'a', { timeouts: { request: '1h', backendRequest: '200ms' } }),
  )

let world: TwoBackends

beforeAll(async () => {
  world = await startTwoBackends((port) => [gateway([port]), filters()])
})
afterAll(() => world.close())

describe('filters', () => {
  const host = 'filters.example'
  const seen = async (path: string, request: Request = {}) => {
    await world.ask(host, path, request)
    return world.a.requests.at(-1)
  }

  test('RequestHeaderModifier', async () => {
    const headers = { 'x-set': 'theirs', 'x-add': 'theirs', 'x-remove': 'theirs' }
    const got = (await seen('/request', { headers }))?.headers
    expect([got?.['x-set'], got?.['x-add'], got?.['x-remove']]).toEqual([
      'ours',
      'theirs, ours',
      undefined,
    ])
  })

  test('ResponseHeaderModifier', async () => {
    world.a.answer((_request, response) =>
      response
        .writeHead(200, { 'x-set': 'theirs', 'x-add': 'theirs', 'x-remove': 'theirs' })
        .end('a'),
    )
    const { headers } = await world.ask(host, '/response')
    expect([headers['x-set'], headers['x-add'], headers['x-remove']]).toEqual([
      'ours',
      'theirs, ours',
      undefined,
    ])
  })

  test('RequestHeaderModifier of a backendRef', async () => {
    expect((await seen('/of-backend'))?.headers['x-set']).toBe('a')
  })

  test.each([
    ['/replace/x?y=z', '/new/x?y=z'],
    ['/replace', '/new'],
    ['/full/x?y=z', '/all?y=z'],
  ])('URLRewrite of %s', async (path, expected) => {
    expect((await seen(path))?.url).toBe(expected)
  })

  test('URLRewrite of the host', async () => {
    expect((await seen('/host'))?.headers.host).toBe('backend.example')
  })

  test.each([
    ['/to-https/x?y', 301, 'https://filters.example/to-https/x?y'],
    ['/to-host/x', 302, 'http://other.example:8443/to-host/x'],
  ])('RequestRedirect of %s', async (path, status, location) => {
    const answer = await world.ask(host, path)
    expect([answer.status, answer.headers.location]).toEqual([status, location])
  })

  test('RequestRedirect of a prefix keeps the port that the client came by', async () => {
    const answer = await world.ask(`${host}:${String(world.stack.port)}`, '/to-path/x')
    expect(answer.status).toBe(302)
    expect(answer.headers.location).toBe(`http://${host}:${String(world.stack.port)}/there/x`)
  })

  test('CORS', async () => {
    const origin = 'https://app.example'
    const preflight = await world.ask(host, '/cors', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'PUT' },
    })
    expect(preflight.status).toBe(200)
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, PUT',
      'access-control-allow-headers': 'X-A',
      'access-control-max-age': '60',
    })
    const answer = await world.ask(host, '/cors', { headers: { origin } })
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'X-B',
    })
    const other = await world.ask(host, '/cors', { headers: { origin: 'https://evil.example' } })
    expect(other.headers['access-control-allow-origin']).toBeUndefined()
  })

  describe('CORS on a redirect', () => {
    test.each(['https://app.example', 'https://a.b.apps.example'])(
      'lets a page of %s follow, and read headers although it sends credentials',
      async (origin) => {
        const { status, headers } = await world.ask(host, '/to-page/x', { headers: { origin } })
        expect([status, headers.location]).toEqual([
          302,
          `http://other.example:${String(world.stack.port)}/to-page/x`,
        ])
        expect(headers).toMatchObject({
          'access-control-allow-origin': origin,
          'access-control-allow-credentials': 'true',
        })
        expect(headers['access-control-expose-headers']?.split(', ')).toContain('WWW-Authenticate')
        expect(headers['access-control-expose-headers']).not.toContain('*')
      },
    )

    test.each([undefined, 'https://evil.example', 'https://app.example.evil.example'])(
      'redirects origin %s without its headers',
      async (origin) => {
        const { status, headers } = await world.ask(host, '/to-page/x', {
          headers: origin === undefined ? {} : { origin },
        })
        expect([status, headers['access-control-allow-origin']]).toEqual([302, undefined])
      },
    )

    test.each(['/to-page', '/to-page/put'])('answers preflights of %s', async (path) => {
      const preflight = (origin: string): Promise<Answer> =>
        world.ask(host, path, {
          method: 'OPTIONS',
          headers: {
            origin,
            'access-control-request-method': 'PUT',
            'access-control-request-headers': 'x-a,x-b',
          },
        })
      const { status, headers } = await preflight('https://app.example')
      expect(status).toBe(200)
      expect(headers).toMatchObject({
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-methods': 'PUT',
        'access-control-allow-headers': 'x-a,x-b',
      })
      const { headers: none } = await preflight('https://evil.example')
      expect(none['access-control-allow-origin']).toBeUndefined()
    })
  })

  // Without a timeout of its own a route of Envoy ends after 15 s, with the same answer.
  test.each(['/slow', '/slow-backend'])(
    'timeouts: %s answers 504',
    { timeout: 10_000 },
    async (path) => {
      world.a.answer(() => undefined)
      expect((await world.ask(host, path)).status).toBe(504)
      world.a.answer((_request, response) => response.end('a'))
    },
  )
})
