// A route that loops back to its own gateway: each pass is counted, and the sixth is rejected.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { answerJson, chat, completion, guardedRoute } from '../support/guardrails.js'
import { send } from '../support/http.js'
import { backendRef, gateway, httpRoute, prefix, proxyBackend, rule } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

let backend: Backend
let stack: Stack
let before: number

const rewrite = (path: string): object => ({
  filters: [
    {
      type: 'URLRewrite',
      urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: path } },
    },
  ],
})

const setting = (name: string, change: object): object =>
  httpRoute(name, {
    rules: [
      rule(`/${name}`, 'self', {
        filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: change }],
      }),
    ],
  })

/** An HTTP/2 way to the gateway itself. */
const overHttp2 = (port: number): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'self-h2' },
    spec: { ports: [{ name: 'h2', port: 80, appProtocol: 'kubernetes.io/h2c' }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'self-h2', labels: { 'kubernetes.io/service-name': 'self-h2' } },
    addressType: 'IPv4',
    ports: [{ name: 'h2', port }],
    endpoints: [{ addresses: ['127.0.0.1'] }],
  },
]

/** The gateway itself as a webhook: its calls are chats of the guarded route. */
const itself = (more: object = {}): object => ({
  webhook: {
    backendRef: backendRef('self'),
    headers: { ':path': '"/guarded/v1/chat/completions"' },
    ...more,
  },
})

const mirror = (name: string): object => ({
  type: 'RequestMirror',
  requestMirror: { backendRef: backendRef(name) },
})

/** Resolves when the listener has answered all requests, those that are on their way to it included. */
const allAnswered = (): Promise<void> =>
  eventually(async () => {
    const filter = '(downstream_rq|cluster.*upstream_rq(_pending)?)_active$'
    const text = await (
      await fetch(`${stack.envoyAdmin}/stats?filter=${encodeURIComponent(filter)}`)
    ).text()
    const active = text
      .split('\n')
      .filter((line) => /^(http\.default\/gw\/|cluster\.(?!gatehouse_xds\.))/.test(line))
    expect(active.filter((line) => !line.endsWith(': 0'))).toEqual([])
  })

/** The gateway itself as a webhook that may fail, asked about its own questions by eight of its kind. */
const askedAtMany = (): object =>
  itself({ headers: { ':path': '"/many/v1/chat/completions"' }, failureMode: 'FailOpen' })

/** Requests that the listener has had. */
async function requests(): Promise<number> {
  const text = await (await fetch(`${stack.envoyAdmin}/stats?filter=downstream_rq_total`)).text()
  const counts = text.split('\n').filter((line) => line.startsWith('http.default/gw/'))
  return counts.reduce((sum, line) => sum + Number(line.split(': ')[1]), 0)
}

const passes = async (): Promise<number> => (await requests()) - before

beforeAll(async () => {
  backend = await startBackend()
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('self', { host: '127.0.0.1', port }),
      proxyBackend('backend', backend),
      ...overHttp2(port),
      proxyBackend('llm', backend),
      ...guardedRoute('/guarded', { response: [itself()] }),
      ...guardedRoute('/many', { response: Array.from({ length: 8 }, askedAtMany) }),
      ...guardedRoute('/fails-open', { request: [itself({ failureMode: 'FailOpen' })] }),
      httpRoute('loop', { rules: [rule('/loop', 'self')] }),
      httpRoute('h2', {
        rules: [{ matches: [prefix('/h2')], backendRefs: [{ name: 'self-h2', port: 80 }] }],
      }),
      httpRoute('circle', {
        rules: [rule('/there', 'self', rewrite('/back')), rule('/back', 'self', rewrite('/there'))],
      }),
      httpRoute('chain', {
        rules: [
          ...[1, 2, 3, 4, 5].map((n) =>
            rule(`/hop${String(n)}`, 'self', rewrite(`/hop${String(n - 1)}`)),
          ),
          rule('/hop0', 'backend'),
        ],
      }),
      httpRoute('mirrors', {
        rules: [
          rule('/mirrored', 'self', { filters: [mirror('self'), mirror('self'), mirror('self')] }),
          rule('/copied', 'backend', { filters: [mirror('self')] }),
        ],
      }),
      httpRoute('retries', {
        rules: [rule('/retried', 'self', { retry: { codes: [508, 503], attempts: 9 } })],
      }),
      setting('removes', { remove: ['Gatehouse-Hops'] }),
      setting('sets', { set: [{ name: 'gatehouse-hops', value: '' }] }),
      setting('adds', { add: [{ name: 'gatehouse-hops', value: '1' }] }),
      setting('nominates', { set: [{ name: 'Connection', value: 'gatehouse-hops' }] }),
      httpRoute('of-a-backend', {
        rules: [
          {
            matches: [prefix('/of-a-backend')],
            backendRefs: [
              {
                ...backendRef('self'),
                filters: [
                  {
                    type: 'RequestHeaderModifier',
                    requestHeaderModifier: { remove: ['gatehouse-hops'] },
                  },
                ],
              },
            ],
          },
        ],
      }),
    ],
  })
})
afterAll(async () => {
  await stack.close()
  await backend.close()
})
beforeEach(async () => {
  before = await requests()
})

describe('a route that leads back to the gateway', () => {
  test.each(['/loop', '/h2', '/there', '/retried'])(
    '%s ends with 508 after five passes',
    async (path) => {
      expect((await send(stack.origin, path)).status).toBe(508)
      expect(await passes()).toBe(6)
    },
  )

  test.each(['/removes', '/sets', '/adds', '/nominates', '/of-a-backend'])(
    '%s cannot reset the count: it refuses',
    async (path) => {
      expect((await send(stack.origin, path)).status).toBe(500)
      expect(await passes()).toBe(1)
    },
  )

  test('does not multiply a request by its copies', async () => {
    expect((await send(stack.origin, '/mirrored')).status).toBe(508)
    await allAnswered()
    expect(await passes()).toBeLessThan(50)
  })

  test('ends whatever the client says of its hops and its connection', async () => {
    const claims: readonly Record<string, string>[] = [
      { 'gatehouse-hops': '' },
      { 'gatehouse-hops': '-' },
      { connection: 'gatehouse-hops' },
      { connection: 'close, gatehouse-hops', 'gatehouse-hops': '0' },
    ]
    for (const headers of claims)
      expect((await send(stack.origin, '/loop', { headers })).status).toBe(508)
    expect(await passes()).toBeLessThanOrEqual(6 * claims.length)
  })
})

describe('a webhook that is behind the gateway whose requests it is asked about', () => {
  test('is asked few times for one request, however many there are and however they fail', async () => {
    const headers = { 'content-type': 'application/json' }
    const path = '/many/v1/chat/completions'
    backend.answer(answerJson(completion('Hello')))
    const answer = await send(stack.origin, path, { method: 'POST', headers, body: chat('Hello') })
    expect(answer.status).toBe(200)
    expect(await passes()).toBeLessThan(200)
  })

  test('is asked three times at most for one request', async () => {
    const headers = { 'content-type': 'application/json' }
    const body = chat('Hello')
    backend.answer(answerJson(completion('Hello')))
    const path = '/guarded/v1/chat/completions'
    const answer = await send(stack.origin, path, { method: 'POST', headers, body })
    expect(answer.status).toBe(503)
    expect(await passes()).toBeLessThanOrEqual(4)
  })

  test('is not left out for a client that says its request has passed often', async () => {
    const headers = { 'content-type': 'application/json', 'gatehouse-hops': '1111' }
    const seen = backend.requests.length
    const path = '/fails-open/v1/chat/completions'
    const asked = await send(stack.origin, path, { method: 'POST', headers, body: chat('Hello') })
    expect(asked.status).toBe(503)
    expect(backend.requests).toHaveLength(seen)
  })
})

describe('a request that passes the gateway', () => {
  test('five times arrives', async () => {
    expect((await send(stack.origin, '/hop4')).status).toBe(200)
    expect(await passes()).toBe(5)
  })

  test('a sixth time does not', async () => {
    const seen = backend.requests.length
    expect((await send(stack.origin, '/hop5')).status).toBe(508)
    expect(backend.requests).toHaveLength(seen)
  })

  test('as a copy arrives once more, and its own copy does not', async () => {
    const seen = backend.requests.length
    expect((await send(stack.origin, '/copied')).status).toBe(200)
    await allAnswered()
    const hops = backend.requests.slice(seen).map(({ headers }) => headers['gatehouse-hops'])
    expect(hops.toSorted()).toEqual(['1', '11111'])
    expect(await passes()).toBe(3)
  })

  test('once is marked for its backend', async () => {
    expect((await send(stack.origin, '/hop0')).status).toBe(200)
    expect(backend.requests.at(-1)?.headers['gatehouse-hops']).toBe('1')
  })
})
