// HTTPRoutes as people write them, Services, and HTTPS listeners, through the whole product: who answers which request, and how.

import { connect } from 'node:tls'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { eventually } from '../support/eventually.js'
import { send, type Answer, type Request } from '../support/http.js'
import { freePort } from '../support/ports.js'
import { backendRef, gateway, httpRoute, prefix, proxyBackend, rule } from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'

const api = selfSigned('api.example')
const wild = selfSigned('*.wild.example')
const renewed = selfSigned('api.example')

let a: Backend
let b: Backend
let stack: Stack
let securePort: number

const route = (name: string, hostname: string, ...rules: readonly object[]): object =>
  httpRoute(name, { parentRefs: [{ name: 'gw' }], hostnames: [hostname], rules })

/** A rule for one match. */
const when = (match: object, backend: string, more: object = {}): object => ({
  matches: [match],
  backendRefs: [backendRef(backend)],
  ...more,
})

const secret = (name: string, { cert, key }: { cert: string; key: string }): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: 'kubernetes.io/tls',
  metadata: { name },
  data: {
    'tls.crt': Buffer.from(cert).toString('base64'),
    'tls.key': Buffer.from(key).toString('base64'),
  },
})

const https = (name: string, hostname: string, certificate: string): object => ({
  name,
  hostname,
  port: securePort,
  protocol: 'HTTPS',
  tls: { mode: 'Terminate', certificateRefs: [{ kind: 'Secret', name: certificate }] },
})

const hostnames = (): readonly object[] => [
  route('one', 'one.example', rule('/', 'a')),
  route('two', 'two.example', rule('/', 'b')),
  route('wild', '*.wild.example', rule('/', 'a')),
  route('narrow', 'narrow.wild.example', rule('/', 'b')),
]

const matches = (): object =>
  route(
    'match',
    'match.example',
    when({ path: { type: 'Exact', value: '/exact' } }, 'b'),
    when(prefix('/prefix'), 'b'),
    when({ path: { type: 'RegularExpression', value: '/re/[0-9]+' } }, 'b'),
    when({ ...prefix('/header'), headers: [{ name: 'X-Version', value: '2' }] }, 'b'),
    when({ ...prefix('/query'), queryParams: [{ name: 'q', value: 'b' }] }, 'b'),
    when({ ...prefix('/method'), method: 'PUT' }, 'b'),
    {
      matches: [prefix('/either'), { ...prefix('/or'), method: 'POST' }],
      backendRefs: [backendRef('b')],
    },
    when(prefix('/'), 'a'),
  )

/** The less specific rule comes first each time: order in the file does not decide, precedence does. */
const precedence = (): object =>
  route(
    'precedence',
    'precedence.example',
    when(prefix('/p'), 'a'),
    when(prefix('/p/long'), 'b'),
    when(prefix('/e'), 'a'),
    when({ path: { type: 'Exact', value: '/e' } }, 'b'),
    when(prefix('/m'), 'a'),
    when({ ...prefix('/m'), method: 'GET' }, 'b'),
    when({ ...prefix('/h'), headers: [{ name: 'x-a', value: '1' }] }, 'a'),
    when(
      {
        ...prefix('/h'),
        headers: [
          { name: 'x-a', value: '1' },
          { name: 'x-b', value: '1' },
        ],
      },
      'b',
    ),
    when(prefix('/first'), 'b'),
    when(prefix('/first'), 'a'),
  )

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
    when(prefix('/slow'), 'a', { timeouts: { request: '200ms' } }),
    when(prefix('/slow-backend'), 'a', { timeouts: { request: '2s', backendRequest: '200ms' } }),
  )

const service = (): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { ports: [{ name: 'http', port: 80, targetPort: a.port }] },
  },
  ...[a, b].map((backend, index) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `web-${String(index)}`, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: backend.port, protocol: 'TCP' }],
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
  })),
  route('service', 'service.example', {
    backendRefs: [{ kind: 'Service', name: 'web', port: 80 }],
  }),
]

const weights = (): object =>
  route(
    'weights',
    'weights.example',
    {
      matches: [prefix('/split')],
      backendRefs: [
        { ...backendRef('a'), weight: 1 },
        { ...backendRef('b'), weight: 4 },
      ],
    },
    {
      matches: [prefix('/none')],
      backendRefs: [
        { ...backendRef('a'), weight: 0 },
        { ...backendRef('b'), weight: 1 },
      ],
    },
    { matches: [prefix('/nobody')], backendRefs: [{ ...backendRef('a'), weight: 0 }] },
    { matches: [prefix('/missing')], backendRefs: [backendRef('missing')] },
    { matches: [prefix('/half')], backendRefs: [backendRef('a'), backendRef('missing')] },
  )

beforeAll(async () => {
  a = await startBackend('a')
  b = await startBackend('b')
  securePort = await freePort()
  stack = await startStack({
    resources: (port) => [
      gateway([
        { name: 'http', port, protocol: 'HTTP' },
        https('api', 'api.example', 'api'),
        https('wild', '*.wild.example', 'wild'),
        https('broken', 'broken.example', 'broken'),
        https('absent', 'absent.example', 'absent'),
      ]),
      secret('api', api),
      secret('wild', wild),
      secret('broken', { cert: 'no certificate', key: 'no key' }),
      proxyBackend('a', a),
      proxyBackend('b', b),
      ...hostnames(),
      matches(),
      precedence(),
      filters(),
      weights(),
      ...service(),
      route('secure', 'api.example', rule('/', 'a')),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await a.close()
  await b.close()
})

const ask = (host: string, path: string, { headers, ...more }: Request = {}): Promise<Answer> =>
  send(stack.origin, path, { ...more, headers: { host, ...(headers as Record<string, string>) } })

const whoAnswers = async (...request: Parameters<typeof ask>): Promise<string | number> => {
  const { status, body } = await ask(...request)
  return status === 200 ? body : status
}

describe('hostnames', () => {
  test.each([
    ['one.example', 'a'],
    ['one.example:8080', 'a'],
    ['ONE.example', 'a'],
    ['two.example', 'b'],
    ['x.wild.example', 'a'],
    ['x.y.wild.example', 'a'],
    ['narrow.wild.example', 'b'],
    ['wild.example', 404],
    ['three.example', 404],
  ])('%s: %s', async (host, expected) => {
    expect(await whoAnswers(host, '/')).toBe(expected)
  })
})

describe('matches', () => {
  const host = 'match.example'
  test.each([
    ['/exact', {}, 'b'],
    ['/exact/', {}, 'a'],
    ['/exactly', {}, 'a'],
    ['/prefix', {}, 'b'],
    ['/prefix/x?y', {}, 'b'],
    ['/prefixed', {}, 'a'],
    ['/header', { headers: { 'x-version': '2' } }, 'b'],
    ['/header', { headers: { 'x-version': '22' } }, 'a'],
    ['/header', {}, 'a'],
    ['/query?q=b', {}, 'b'],
    ['/query?p=1&q=b', {}, 'b'],
    ['/query?q=bb', {}, 'a'],
    ['/method', { method: 'PUT' }, 'b'],
    ['/method', { method: 'POST' }, 'a'],
    ['/either', {}, 'b'],
    ['/or', { method: 'POST' }, 'b'],
    ['/or', {}, 'a'],
  ])('%s %j: %s', async (path, request, expected) => {
    expect(await whoAnswers(host, path, request)).toBe(expected)
  })

  test.each([
    ['the longer prefix', '/p/long/x', {}],
    ['the exact path', '/e', {}],
    ['the method', '/m', {}],
    ['more headers', '/h', { headers: { 'x-a': '1', 'x-b': '1' } }],
    ['the first of two equal rules', '/first', {}],
  ])('%s wins', async (_what, path, request) => {
    expect(await whoAnswers('precedence.example', path, request)).toBe('b')
  })
})

test('a match that is not implemented is a condition on its route, and the rest of the route works', async () => {
  const { conditions = [] } = (await stack.status()).find(({ name }) => name === 'match') ?? {}
  expect(conditions).toContainEqual(
    expect.objectContaining({
      message: expect.stringContaining('path type RegularExpression is not implemented') as string,
    }),
  )
})

describe('backends', () => {
  const host = 'weights.example'
  const shares = async (path: string, times: number): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {}
    for (let i = 0; i < times; i++) {
      const who = String(await whoAnswers(host, path))
      counts[who] = (counts[who] ?? 0) + 1
    }
    return counts
  }

  test('share by weight', async () => {
    const { a: few = 0, b: many = 0 } = await shares('/split', 200)
    expect(few + many).toBe(200)
    expect(few).toBeGreaterThan(10)
    expect(many).toBeGreaterThan(120)
  })

  test('of weight 0 get nothing', async () => {
    expect(await shares('/none', 20)).toEqual({ b: 20 })
    expect(await shares('/nobody', 3)).toEqual({ '500': 3 })
  })

  test('that do not exist answer 500 for their share, and the route says so', async () => {
    expect(await shares('/missing', 3)).toEqual({ '500': 3 })
    const { a: some = 0, '500': failed = 0 } = await shares('/half', 60)
    expect([some + failed, some > 5, failed > 5]).toEqual([60, true, true])
    const status = (await stack.status()).find(({ name }) => name === 'weights')
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' }),
    )
  })

  test('of a Service are the endpoints of its slices', async () => {
    const seen = new Set<string | number>()
    await eventually(async () => {
      seen.add(await whoAnswers('service.example', '/'))
      expect(seen.size).toBe(2)
    })
    expect([...seen].sort()).toEqual(['a', 'b'])
  })
})

describe('filters', () => {
  const host = 'filters.example'
  const seen = async (path: string, request: Request = {}) => {
    await ask(host, path, request)
    return a.requests.at(-1)
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
    a.answer((_request, response) =>
      response
        .writeHead(200, { 'x-set': 'theirs', 'x-add': 'theirs', 'x-remove': 'theirs' })
        .end('a'),
    )
    const { headers } = await ask(host, '/response')
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
    const answer = await ask(host, path)
    expect([answer.status, answer.headers.location]).toEqual([status, location])
  })

  test('RequestRedirect of a prefix keeps the port that the client came by', async () => {
    const answer = await ask(`${host}:${String(stack.port)}`, '/to-path/x')
    expect(answer.status).toBe(302)
    expect(answer.headers.location).toBe(`http://${host}:${String(stack.port)}/there/x`)
  })

  test('CORS', async () => {
    const origin = 'https://app.example'
    const preflight = await ask(host, '/cors', {
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
    const answer = await ask(host, '/cors', { headers: { origin } })
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': 'X-B',
    })
    const other = await ask(host, '/cors', { headers: { origin: 'https://evil.example' } })
    expect(other.headers['access-control-allow-origin']).toBeUndefined()
  })

  test.each(['/slow', '/slow-backend'])('timeouts: %s answers 504', async (path) => {
    a.answer(() => undefined)
    const before = performance.now()
    expect((await ask(host, path)).status).toBe(504)
    expect(performance.now() - before).toBeLessThan(1_500)
    a.answer((_request, response) => response.end('a'))
  })
})

describe('HTTPS', () => {
  const secure = (servername: string, ca: string): Promise<Answer> =>
    send(`https://127.0.0.1:${String(securePort)}`, '/', {
      headers: { host: servername },
      tls: { servername, ca },
    })

  /** The certificate that Envoy shows for a server name; undefined: it shows none. */
  const shown = async (servername?: string): Promise<string | undefined> => {
    const socket = connect({
      host: '127.0.0.1',
      port: securePort,
      rejectUnauthorized: false,
      ...(servername !== undefined && { servername }),
    })
    try {
      await once(socket, 'secureConnect')
      return socket.getPeerX509Certificate()?.toString()
    } catch {
      return undefined
    } finally {
      socket.destroy()
    }
  }

  test('each name has its certificate', async () => {
    expect((await secure('api.example', api.cert)).body).toBe('a')
    expect((await secure('x.wild.example', wild.cert)).body).toBe('a')
    expect(await shown('api.example')).toBe(api.cert)
    expect(await shown('x.wild.example')).toBe(wild.cert)
  })

  test.each([['another.example'], ['broken.example'], ['absent.example'], [undefined]])(
    '%s gets no connection',
    async (name) => expect(await shown(name)).toBeUndefined(),
  )

  test('a certificate that is none or absent is a condition on the Gateway, and the others serve', async () => {
    const status = (await stack.status()).find(({ kind }) => kind === 'Gateway')
    const refused =
      status?.conditions.filter(({ reason }) => reason === 'InvalidCertificateRef') ?? []
    expect(refused.map(({ type, status }) => [type, status])).toEqual([
      ['ResolvedRefs', 'False'],
      ['ResolvedRefs', 'False'],
    ])
    expect(JSON.stringify(refused)).not.toContain('no key')
  })

  test('a renewed certificate is shown without a restart', async () => {
    await stack.write('api-certificate.yaml', secret('renewed', renewed))
    await stack.write(
      'resources.yaml',
      gateway([
        { name: 'http', port: stack.port, protocol: 'HTTP' },
        https('api', 'api.example', 'renewed'),
      ]),
      proxyBackend('a', a),
      route('secure', 'api.example', rule('/', 'a')),
    )
    await eventually(async () => expect(await shown('api.example')).toBe(renewed.cert))
    expect((await secure('api.example', renewed.cert)).body).toBe('a')
  })

  test('the private key is in no dump', async () => {
    const dumps = await Promise.all(
      ['/status', '/config_dump', '/'].map(async (path) =>
        (await fetch(stack.admin + path)).text(),
      ),
    )
    for (const line of renewed.key.split('\n').filter((each) => each.length > 40))
      expect(dumps.join('')).not.toContain(line)
    expect(stack.log()).not.toContain('PRIVATE KEY')
  })
})
