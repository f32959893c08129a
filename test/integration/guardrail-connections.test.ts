// The connections to a guardrail webhook: outages and recovery, TLS, timeouts, and few connections.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import {
  answerJson,
  both,
  chat,
  completion,
  guardedRoute,
  type GuardedStack,
  hook,
  sample,
  service,
  startGuardedStack,
  webhookLimits,
} from '../support/guardrails.js'
import type { Answer } from '../support/http.js'
import { API_GROUP, backendRef, proxyBackend } from '../support/resources.js'

/** Longer than Envoy's own deadlines. */
const LONGER_MS = 5_500

const certificate = selfSigned('guard.example')
const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'ca' }]

let secured: Backend
let awayPort: number
let folder: string
let stack: GuardedStack

/** The webhook with a certificate, as a ProxyBackend of its own, and a route that it guards. */
const overTls = (name: string, validation?: object): object[] => [
  proxyBackend(name, secured),
  ...(validation === undefined
    ? []
    : [
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'BackendTLSPolicy',
          metadata: { name },
          spec: { targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name }], validation },
        },
      ]),
  ...guardedRoute(
    `/${name}`,
    both({ webhook: { backendRef: { ...backendRef(name), port: secured.port } } }),
  ),
]

/** A policy on the ProxyBackend of that name. */
const proxyPolicyOn = (name: string, backend: object): object => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name: `${name}-backend` },
  spec: { targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name }], backend },
})

const outside = { webhook: { backendRef: backendRef('outside') } }

beforeAll(async () => {
  secured = await startBackend('secured', { tls: certificate })
  awayPort = await freePort()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-guardrail-'))
  const bundle = join(folder, 'bundle.pem')
  await writeFile(bundle, certificate.cert)
  stack = await startGuardedStack(
    (webhook) => [
      ...webhookLimits({ MAX_CONNECTIONS: '2', KEEPALIVE_SECONDS: '0' }),
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'ca' },
        data: { 'ca.crt': certificate.cert },
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'other' },
        data: { 'ca.crt': selfSigned('guard.example').cert },
      },
      ...overTls('own', { hostname: 'guard.example', caCertificateRefs }),
      ...overTls('system', { hostname: 'guard.example', wellKnownCACertificates: 'System' }),
      ...overTls('misnamed', { hostname: 'other.example', caCertificateRefs }),
      ...overTls('untrusted', {
        hostname: 'guard.example',
        caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'other' }],
      }),
      ...overTls('plain'),
      ...guardedRoute('/requests', { request: [hook('guard')] }),
      ...service('away', awayPort),
      ...guardedRoute('/away', { request: [hook('away')] }),
      ...guardedRoute('/away-reply', { response: [hook('away')] }),
      ...guardedRoute('/away-open', both(hook('away', { failureMode: 'FailOpen' }))),
      ...service('instant', webhook.port, '1ms'),
      ...guardedRoute('/instant', { request: [hook('instant')] }),
      proxyBackend('outside', webhook),
      proxyPolicyOn('outside', { http: { requestTimeout: '1s' } }),
      ...guardedRoute('/outside', { request: [outside] }),
      ...guardedRoute('/outside-reply', { response: [outside] }),
    ],
    { environment: { SSL_CERT_FILE: bundle } },
  )
})
afterAll(async () => {
  await stack.close()
  await secured.close()
  await rm(folder, { recursive: true })
})
beforeEach(() => {
  stack.reset()
  secured.requests.length = 0
  secured.answer(sample)
})

test('nothing listens: 503 in both phases, or allowed with FailOpen; once back, it is used for the next request', async () => {
  for (const path of ['/away', '/away-reply']) {
    const answer = await stack.post(path, chat('a secret'))
    expect(answer.status).toBe(503)
    expect(answer.body).not.toContain('hello')
  }
  expect((await stack.post('/away-open', chat('a secret'))).status).toBe(200)
  for (let times = 0; times < 2; times++) {
    const back = await startBackend('back', { port: awayPort })
    back.answer(sample)
    stack.llm.requests.length = 0
    expect((await stack.post('/away', chat('a secret'))).status).toBe(200)
    expect(stack.llm.requests.map(({ body }) => body)).toEqual([chat('a ****')])
    await back.close()
    expect((await stack.post('/away', chat('a secret'))).status).toBe(503)
  }
})

test.each(['/own', '/system'])('%s authority and the right name: asked over TLS', async (path) => {
  expect((await stack.post(path, chat('a secret'))).status).toBe(200)
  expect(stack.llm.requests[0]?.body).toBe(chat('a ****'))
  expect(secured.requests.map(({ url, headers }) => [url, headers.host])).toEqual([
    ['/request', `guard.example:${String(secured.port)}`],
    ['/response', `guard.example:${String(secured.port)}`],
  ])
})

test.each(['/misnamed', '/untrusted', '/plain'])(
  '%s: 503, and nothing is sent to it',
  async (path) => {
    expect((await stack.post(path, chat('a secret'))).status).toBe(503)
    expect(secured.requests).toEqual([])
    expect(stack.llm.requests).toEqual([])
  },
)

test('a requestTimeout of 1 ms is over before a webhook can be asked', async () => {
  stack.webhook.answer(() => {})
  expect((await stack.post('/instant', chat('hi'))).status).toBe(503)
  expect(stack.llm.requests).toEqual([])
  await eventually(() => expect(stack.log()).toContain('within 1 ms'))
})

test.each(['/outside', '/outside-reply'])(
  '%s, a ProxyBackend that hangs: 503 at the requestTimeout of its policy, and the call is over',
  async (path) => {
    const ended: Promise<unknown>[] = []
    // A question of the test before may arrive only now: its deadline was over once it had been written.
    stack.webhook.answer((request, response) => {
      if (request.body.includes(path)) ended.push(once(response, 'close'))
    })
    stack.llm.answer(answerJson(completion(path)))
    expect((await stack.post(path, chat(path))).status).toBe(503)
    expect(ended).toHaveLength(1)
    await Promise.all(ended)
    await eventually(() => expect(stack.log()).toContain('within 1000 ms'))
    stack.webhook.answer(sample)
    expect((await stack.post(path, chat('hi'))).status).toBe(200)
  },
)

test('without a requestTimeout there is no deadline, neither in Gatehouse nor in Envoy (200 ms, 5 s)', async () => {
  const held: (() => void)[] = []
  stack.webhook.answer((request, response) => {
    if (request.body.includes('secret')) held.push(() => void sample(request, response))
    else sample(request, response)
  })
  stack.llm.answer(answerJson(completion('a secret')))
  const answers: Answer[] = []
  const post = async (path: string, prompt: string): Promise<void> =>
    void answers.push(await stack.post(path, chat(prompt)))
  // One waits in the phase of replies, the other in that of requests.
  const reply = post('/both', 'hi')
  await eventually(() => expect(held).toHaveLength(1))
  const request = post('/requests', 'a secret')
  await eventually(() => expect(held).toHaveLength(2))
  await delay(LONGER_MS)
  expect(answers).toEqual([])
  for (const answer of held) answer()
  await Promise.all([reply, request])
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  expect(answers.map(({ body }) => body).sort()).toEqual(
    ['a ****', 'a secret'].map((text) => JSON.stringify(completion(text))),
  )
  expect(stack.llm.requests.map(({ body }) => body)).toEqual([chat('hi'), chat('a ****')])
}, 40_000)

test('GUARDRAIL_WEBHOOK_MAX_CONNECTIONS is a limit of connections: who waits for one is asked about later', async () => {
  const held: ServerResponse[] = []
  const open = new Set<Socket>()
  let most = 0
  stack.webhook.answer((_request, response) => {
    const { socket } = response
    if (socket !== null && !open.has(socket)) {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
    }
    held.push(response)
    most = Math.max(most, held.filter(({ writableEnded }) => !writableEnded).length)
  })
  const answers = Promise.all([1, 2, 3, 4, 5].map(() => stack.post('/requests', chat('hi'))))
  for (let served = 0; served < 5; served++) {
    await eventually(() => expect(held).toHaveLength(Math.min(5, served + 2)))
    // With several workers a connection of one may take the place of another one's, whose end may be seen later.
    await eventually(() => expect(open.size).toBeLessThanOrEqual(2))
    held[served]?.end('{"action":{}}')
  }
  expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  expect(most).toBe(2)
})
