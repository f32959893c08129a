// What `envoy --mode validate` cannot show: a real Envoy chooses, rewrites and redirects as the translated routes
// intend.

import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Route } from '../../src/model/route.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type Request, send } from '../support/http.js'
import { chain, destination, forward, ir, route } from '../support/ir.js'
import { startTranslated, type TranslatedEnvoy } from '../support/translated-envoy.js'

let a: Backend
let b: Backend
let port: number
let origin: string
let envoy: TranslatedEnvoy

const prefixTo = (value: string) =>
  forward('a', { rewrite: { path: { type: 'ReplacePrefixMatch', value } } })

const matching: readonly Route[] = [
  route('=/exact', forward('b')),
  route('/method', forward('b'), { match: { method: 'POST' } }),
  route('/header', forward('b'), {
    match: { headers: [{ name: 'x-version', type: 'Exact', value: '2' }] },
  }),
  route('/regex', forward('b'), {
    match: { headers: [{ name: 'x-version', type: 'RegularExpression', value: 'v[0-9]+' }] },
  }),
  route('/query', forward('b'), {
    match: { queryParams: [{ name: 'q', type: 'Exact', value: 'b' }] },
  }),
  route('/encoded', forward('b'), {
    match: { queryParams: [{ name: 'q', type: 'Exact', value: 'a+b c/é&%' }] },
  }),
  route('/longest', forward('b'), {
    match: { queryParams: [{ name: 'q', type: 'Exact', value: 'k'.repeat(1024) }] },
  }),
  route('/long', forward('b'), {
    match: { queryParams: [{ name: 'q', type: 'Exact', value: 'é~'.repeat(512) }] },
  }),
]

const shares: readonly Route[] = [
  route('/split', {
    ...forward('a'),
    destinations: [
      { destination: 'a', weight: 1 },
      { destination: 'b', weight: 3 },
    ],
  }),
  route('/unresolved', {
    ...forward('a'),
    destinations: [{ destination: 'a', weight: 1 }, { weight: 1 }],
  }),
  route('/all-unresolved', { ...forward('a'), destinations: [{ weight: 1 }] }),
  route('/empty', forward('nobody')),
]

const rewriting: readonly Route[] = [
  route('/prefix', prefixTo('/new')),
  route('/strip.me', prefixTo('')),
  route(
    '/full',
    forward('a', { rewrite: { path: { type: 'ReplaceFullPath', value: '/one\\1' } } }),
  ),
  route('/host', forward('a', { rewrite: { hostname: 'rewritten.example' } })),
  route('/backend-host', {
    ...forward('a'),
    destinations: [{ destination: 'a', weight: 1, host: 'backend.example' }],
  }),
]

const headers: Route = route(
  '/headers',
  {
    ...forward('a'),
    destinations: [
      {
        destination: 'a',
        weight: 1,
        requestHeaders: { set: [{ name: 'x-of-backend', value: '1' }], add: [], remove: [] },
        responseHeaders: { set: [{ name: 'x-of-backend', value: '2' }], add: [], remove: [] },
      },
    ],
  },
  {
    requestHeaders: {
      set: [
        { name: 'x-set', value: '100% new' },
        { name: 'Host', value: 'set.example' },
      ],
      add: [
        { name: 'x-add', value: 'two' },
        { name: 'x-add', value: 'three' },
      ],
      remove: ['x-remove'],
    },
    responseHeaders: {
      set: [{ name: 'x-set', value: 'ours' }],
      add: [{ name: 'x-add', value: 'ours' }],
      remove: ['x-remove'],
    },
  },
)

const timing: readonly Route[] = [
  route('/slow', forward('a', { timeouts: { requestMs: 150 } })),
  route('/slow-backend', forward('a', { timeouts: { requestMs: 0, backendRequestMs: 150 } })),
  route('/idle', forward('a', { timeouts: { requestMs: 0, idleMs: 150 } })),
  route('/endless', forward('a', { timeouts: { requestMs: 0, idleMs: 0 } })),
]

const redirecting: readonly Route[] = [
  route('/to-https', { type: 'redirect', scheme: 'https', statusCode: 301 }),
  route('/to-host', { type: 'redirect', hostname: 'other.example', statusCode: 302 }),
  route('/to-port', { type: 'redirect', scheme: 'https', port: 8443, statusCode: 307 }),
  route('/to-all', {
    type: 'redirect',
    scheme: 'https',
    hostname: 'other.example',
    port: 443,
    statusCode: 308,
    path: { type: 'ReplacePrefixMatch', value: '/new' },
  }),
  route('/to-path', {
    type: 'redirect',
    statusCode: 303,
    path: { type: 'ReplaceFullPath', value: '/full' },
  }),
]

beforeAll(async () => {
  ;[a, b, port] = await Promise.all([startBackend('a'), startBackend('b'), freePort()])
  origin = `http://127.0.0.1:${String(port)}`
  const routes = [
    ...matching,
    ...shares,
    ...rewriting,
    headers,
    ...timing,
    ...redirecting,
    route('/', forward('a')),
  ]
  envoy = await startTranslated(
    ir({
      port,
      chains: [chain(`default/gw/${String(port)}`, routes)],
      destinations: [
        destination('a', a.port),
        destination('b', b.port),
        destination('nobody', 0, { endpoints: { type: 'addresses', addresses: [] } }),
      ],
    }),
  )
})

afterAll(async () => {
  await envoy.close()
  await Promise.all([a.close(), b.close()])
})

/** Names of the backends that answered this number of requests, or the status if none did. */
async function met(path: string, count = 1, request: Request = {}): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let index = 0; index < count; index++) {
    const { status, body } = await send(origin, path, request)
    const name = status === 200 ? body : String(status)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

const whoAnswers = async (path: string, request?: Request): Promise<string> =>
  [...(await met(path, 1, request)).keys()].join()

describe('matching', () => {
  test.each<[string, string, Request]>([
    ['/exact', 'b', {}],
    ['/exact?q=1', 'b', {}],
    ['/exact/', 'a', {}],
    ['/exact/x', 'a', {}],
    ['/method', 'b', { method: 'POST' }],
    ['/method', 'a', {}],
    ['/header', 'b', { headers: { 'X-Version': '2' } }],
    ['/header', 'a', { headers: { 'x-version': '22' } }],
    ['/regex', 'b', { headers: { 'x-version': 'v12' } }],
    ['/regex', 'a', { headers: { 'x-version': 'xv12' } }],
    ['/query?q=b', 'b', {}],
    ['/query?q=bb', 'a', {}],
    ['/query?q=%62', 'b', {}],
    ['/query?q=%63', 'a', {}],
    ['/encoded?q=a%2Bb+c/%C3%A9%26%25', 'b', {}],
    ['/encoded?q=a%2bb%20c%2f%c3%A9%26%25', 'b', {}],
    ['/encoded?q=a+b+c/%C3%A9%26%25', 'a', {}],
    [`/longest?q=${'k'.repeat(1023)}%6B`, 'b', {}],
    [`/long?q=${'%c3%a9%7E'.repeat(512)}`, 'b', {}],
  ])('%s meets %s', async (path, name, request) => {
    expect(await whoAnswers(path, request)).toBe(name)
  })

  test('the port in Host does not matter', async () => {
    expect(await whoAnswers('/exact', { headers: { host: 'any.example:8443' } })).toBe('b')
  })
})

describe('shares of traffic', () => {
  test('follow the weights', async () => {
    const counts = await met('/split', 400)
    expect(counts.get('b')).toBeGreaterThan((counts.get('a') ?? 0) * 1.5)
    expect(counts.get('a')).toBeGreaterThan(30)
  })

  test('a backend that does not resolve answers its share with 500', async () => {
    const counts = await met('/unresolved', 60)
    expect([...counts.keys()].sort()).toEqual(['500', 'a'])
  })

  test('without any backend that resolves everything is 500', async () => {
    expect(await whoAnswers('/all-unresolved')).toBe('500')
  })

  test('a backend without endpoints is 503, and no client can make it 500', async () => {
    const headers = { 'x-gatehouse-unresolved': '1' }
    expect(await whoAnswers('/empty')).toBe('503')
    expect(await whoAnswers('/empty', { headers })).toBe('503')
  })
})

describe('rewriting', () => {
  test.each([
    ['/prefix/x?y=/prefix', '/new/x?y=/prefix'],
    ['/prefix', '/new'],
    ['/prefix/', '/new/'],
    ['/strip.me/x?y=1', '/x?y=1'],
    ['/strip.me', '/'],
    ['/strip.me/', '/'],
    ['/full/x?q=1', '/one\\1?q=1'],
  ])('%s reaches the backend as %s', async (path, wanted) => {
    await send(origin, path)
    expect(a.requests.at(-1)?.url).toBe(wanted)
  })

  test.each([
    ['/host', 'rewritten.example'],
    ['/backend-host', 'backend.example'],
    ['/other', 'client.example:81'],
  ])('%s reaches the backend with Host %s', async (path, host) => {
    await send(origin, path, { headers: { host: 'client.example:81' } })
    expect(a.requests.at(-1)?.headers.host).toBe(host)
  })
})

describe('header modifiers', () => {
  test('set, add and remove headers of the request', async () => {
    await send(origin, '/headers', {
      headers: { 'x-set': 'old', 'x-add': 'one', 'x-remove': '1', 'x-of-backend': '0' },
    })
    const seen = a.requests.at(-1)?.headers ?? {}
    expect(seen).toMatchObject({ 'x-set': '100% new', host: 'set.example', 'x-of-backend': '1' })
    expect(seen['x-add']).toBe('one, two, three')
    expect(seen['x-remove']).toBeUndefined()
  })

  test('set, add and remove headers of the response', async () => {
    a.answer((_, response) => {
      response.setHeader('x-set', 'theirs').setHeader('x-add', 'theirs')
      response.setHeader('x-remove', '1').setHeader('server', 'mine').end()
    })
    const { headers: seen } = await send(origin, '/headers')
    expect(seen).toMatchObject({ 'x-set': 'ours', 'x-add': 'theirs, ours', 'x-of-backend': '2' })
    expect(seen['server']).toBe('mine')
    expect(seen['x-remove']).toBeUndefined()
    expect(Object.keys(seen).filter((name) => name.startsWith('x-envoy'))).toEqual([])
    a.answer((_, response) => void response.end('a'))
  })
})

describe('timeouts', () => {
  test('of the request, the backend and silence answer 504', async () => {
    a.answer(() => undefined)
    const paths = ['/slow', '/slow-backend', '/idle']
    const answers = await Promise.all(paths.map((path) => send(origin, path)))
    expect(answers.map(({ status }) => status)).toEqual([504, 504, 504])
    a.answer((_, response) => void response.end('a'))
  })

  test('switched off let a slow backend finish', async () => {
    const held: ServerResponse[] = []
    a.answer((_, response) => void held.push(response))
    const endless = send(origin, '/endless')
    await eventually(() => expect(held).toHaveLength(1))
    expect((await send(origin, '/slow')).status).toBe(504)
    held[0]?.end('late')
    expect((await endless).body).toBe('late')
    a.answer((_, response) => void response.end('a'))
  })
})

describe('redirects', () => {
  test.each([
    ['/to-https', 301, 'https://h.example:443/to-https?q=1'],
    ['/to-host', 302, 'http://other.example:PORT/to-host?q=1'],
    ['/to-port', 307, 'https://h.example:8443/to-port?q=1'],
    ['/to-all/x', 308, 'https://other.example/new/x?q=1'],
    ['/to-path', 303, 'http://h.example:81/full?q=1'],
  ])('%s is answered %s to %s', async (path, status, location) => {
    const headers = { host: 'h.example:81' }
    const answer = await send(origin, `${path}?q=1`, { headers })
    expect(answer.status).toBe(status)
    expect(answer.headers.location).toBe(location.replace('PORT', String(port)))
  })
})
