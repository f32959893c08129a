// HTTPRoutes as people write them, through the whole product: which backend gets what, and what it is sent.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { send, type Answer, type Request } from '../support/http.js'
import { freePort } from '../support/ports.js'
import { backendRef, gateway, httpRoute, proxyBackend, rule } from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'

let a: Backend
let b: Backend
let stack: Stack
let tlsPort: number
const certificate = selfSigned('secure.example')

const exact = (value: string): object => ({ path: { type: 'Exact', value } })

function rules(): object[] {
  const header = (name: string, value: string): object => ({ name, value })
  const toB = [backendRef('b')]
  return [
    { matches: [exact('/exact')], backendRefs: toB },
    { matches: [{ method: 'PUT' }], backendRefs: toB },
    { matches: [{ headers: [header('x-version', '2')] }], backendRefs: toB },
    { matches: [{ queryParams: [header('beta', 'yes')] }], backendRefs: toB },
    rule('/nested', 'a'),
    rule('/nested/deep', 'b'),
    rule('/weighted', 'a', {
      backendRefs: [
        { ...backendRef('a'), weight: 1 },
        { ...backendRef('b'), weight: 3 },
      ],
    }),
    rule('/none', 'a', { backendRefs: [{ ...backendRef('a'), weight: 0 }] }),
    rule('/unknown', 'nobody'),
    rule('/request-headers', 'a', {
      filters: [
        {
          type: 'RequestHeaderModifier',
          requestHeaderModifier: {
            set: [header('x-set', 'ours')],
            add: [header('x-add', 'more')],
            remove: ['x-secret'],
          },
        },
      ],
    }),
    rule('/response-headers', 'a', {
      filters: [
        {
          type: 'ResponseHeaderModifier',
          responseHeaderModifier: { set: [header('x-served-by', 'us')], remove: ['x-backend'] },
        },
      ],
    }),
    rule('/old', 'a', {
      filters: [
        {
          type: 'URLRewrite',
          urlRewrite: {
            hostname: 'inner.example',
            path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' },
          },
        },
      ],
    }),
    {
      matches: [exact('/moved')],
      filters: [
        {
          type: 'RequestRedirect',
          requestRedirect: {
            scheme: 'https',
            hostname: 'there.example',
            path: { type: 'ReplaceFullPath', replaceFullPath: '/here' },
            statusCode: 301,
          },
        },
      ],
    },
    rule('/slow', 'a', { timeouts: { request: '150ms' } }),
  ]
}

beforeAll(async () => {
  ;[a, b, tlsPort] = await Promise.all([startBackend('a'), startBackend('b'), freePort()])
  a.answer(({ url }, response) => {
    if (url.startsWith('/slow')) return
    response.writeHead(200, { 'x-backend': 'a' }).end('a')
  })
  stack = await startStack({
    resources: (port) => [
      gateway([
        { name: 'http', port, protocol: 'HTTP' },
        {
          name: 'https',
          port: tlsPort,
          protocol: 'HTTPS',
          hostname: 'secure.example',
          tls: { mode: 'Terminate', certificateRefs: [{ name: 'secure' }] },
        },
      ]),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'kubernetes.io/tls',
        metadata: { name: 'secure' },
        stringData: { 'tls.crt': certificate.cert, 'tls.key': certificate.key },
      },
      proxyBackend('a', a),
      proxyBackend('b', b),
      httpRoute('all', { parentRefs: [{ name: 'gw', sectionName: 'http' }], rules: rules() }),
      httpRoute('hosts', {
        parentRefs: [{ name: 'gw', sectionName: 'http' }],
        hostnames: ['b.example', '*.wild.example'],
        rules: [rule('/', 'b')],
      }),
      httpRoute('secure', {
        parentRefs: [{ name: 'gw', sectionName: 'https' }],
        rules: [rule('/', 'b')],
      }),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([a.close(), b.close()])
})

beforeEach(() => {
  a.requests.length = 0
  b.requests.length = 0
})

const ask = (path: string, request: Request = {}): Promise<Answer> =>
  send(stack.origin, path, request)

describe('a request goes by', () => {
  test.each([
    ['an exact path', '/exact', {}, 'b'],
    ['a longer path than the exact one', '/exact/x', {}, 404],
    ['the method', '/x', { method: 'PUT' }, 'b'],
    ['a header', '/x', { headers: { 'x-version': '2' } }, 'b'],
    ['a header of another value', '/x', { headers: { 'x-version': '3' } }, 404],
    ['a query parameter', '/x?beta=yes', {}, 'b'],
    ['the longest prefix', '/nested/deep/x', {}, 'b'],
    ['a shorter prefix', '/nested/x', {}, 'a'],
    ['a prefix of segments, not of letters', '/nestedx', {}, 404],
    ['the host', '/x', { headers: { host: 'b.example' } }, 'b'],
    ['the host, with a port', '/x', { headers: { host: 'b.example:8080' } }, 'b'],
    ['a host below a wildcard', '/x', { headers: { host: 'x.y.wild.example' } }, 'b'],
    ['the host of the wildcard itself', '/x', { headers: { host: 'wild.example' } }, 404],
    ['no weight at all', '/none', {}, 500],
    ['a backend that does not exist', '/unknown', {}, 500],
  ])('%s', async (_title, path, request, wanted) => {
    const answer = await ask(path, request)
    expect(answer.status === 200 ? answer.body : answer.status).toBe(wanted)
  })

  test('weights', async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask('/weighted')))
    const share = answers.filter(({ body }) => body === 'b').length / answers.length
    expect(share).toBeGreaterThan(0.6)
    expect(share).toBeLessThan(0.9)
  })
})

describe('filters', () => {
  test('change the headers of the request', async () => {
    await ask('/request-headers', {
      headers: { 'x-set': 'theirs', 'x-add': 'one', 'x-secret': 's' },
    })
    const headers = a.requests[0]?.headers ?? {}
    expect(headers['x-set']).toBe('ours')
    expect(headers['x-add']).toMatch(/^one, ?more$/)
    expect(headers['x-secret']).toBeUndefined()
  })

  test('change the headers of the response', async () => {
    const { headers } = await ask('/response-headers')
    expect([headers['x-served-by'], headers['x-backend']]).toEqual(['us', undefined])
  })

  test('rewrite path and host', async () => {
    await ask('/old/thing?q=1')
    expect(a.requests[0]?.url).toBe('/new/thing?q=1')
    expect(a.requests[0]?.headers.host).toBe('inner.example')
  })

  test('redirect', async () => {
    const { status, headers } = await ask('/moved')
    expect([status, headers.location]).toEqual([301, 'https://there.example/here'])
  })
})

test("a timeout of the route answers 504, long before Envoy's own would", async () => {
  const start = performance.now()
  expect((await ask('/slow')).status).toBe(504)
  expect(performance.now() - start).toBeLessThan(5000)
})

describe('an HTTPS listener', () => {
  const askTls = (servername: string, headers = {}): Promise<Answer> =>
    send(`https://127.0.0.1:${String(tlsPort)}`, '/x', {
      tls: { servername, ca: certificate.cert },
      headers: { host: servername, ...headers },
    })

  test('serves its own routes with the certificate of the Secret', async () => {
    const answer = await askTls('secure.example')
    expect([answer.status, answer.body]).toEqual([200, 'b'])
    expect(b.requests[0]?.headers['x-forwarded-proto']).toBe('https')
  })

  test('does not take part in a handshake for another name', async () => {
    await expect(askTls('other.example')).rejects.toThrow()
  })

  test('its private key is in no dump', async () => {
    const dump = await (await fetch(`${stack.admin}/config_dump`)).text()
    const secret = certificate.key.split('\n')[2] ?? ''
    expect(dump).not.toContain(secret)
    expect(stack.log()).not.toContain(secret)
  })
})
