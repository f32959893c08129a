// Sealed routes of a real Envoy Gateway: they work, and conditions that would silently open other routes close these.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { eventually } from '../../testing/eventually.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { completion, service } from '../support/guardrails.js'
import { bearer, initialize, send } from '../support/http.js'
import { proxyBackend } from '../support/resources.js'
import { keySet, newKey, type SigningKey } from '../support/tokens.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { type GuardedParties, startGuardedParties } from './support/guarded-parties.js'
import { backend, gatewayDocuments, PORT, route } from './support/resources.js'
import { callers, guard, issuedToken, newPrompt, sendChat } from './support/sealed-routes.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${PORT}`
const GRPC = '127.0.0.1:18005'
const CLOSED = '127.0.0.1:18009'

interface Manifest {
  readonly kind: string
  readonly spec: Record<string, unknown>
  readonly metadata: { readonly name: string }
}

let parties: GuardedParties
let idp: DocumentServer
let key: SigningKey
let mesh: EnvoyGateway
let gatehouse: Gatehouse
let manifests: readonly Manifest[]

const routes = [
  route('api', '/api', 'api'),
  route('llm', '/v1', 'llm'),
  route('both', '/both', 'api'),
]

beforeAll(async () => {
  key = await newKey('k1')
  ;[parties, idp, mesh] = await Promise.all([
    startGuardedParties(),
    startDocumentServer(),
    startEnvoyGateway(),
  ])
  idp.serve('/jwks', keySet(key))
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [
      ...gatewayDocuments,
      ...routes,
      ...['api', 'both'].map((name) => callers(name, idp)),
      ...['llm', 'both'].map(guard),
      proxyBackend('idp', idp),
      ...service('guardrail', parties.webhook.port),
    ],
    flags: [
      '--for',
      'envoy-gateway',
      '--route-key',
      'envoy-gateway',
      '--grpc',
      GRPC,
      '--closed',
      CLOSED,
    ],
  })
  const addresses = ['--connect', GRPC, '--closed', CLOSED]
  const printed = await translateFor('envoy-gateway', '--sealed', gatehouse.folder, ...addresses)
  manifests = parseAllDocuments(printed).map((document) => document.toJS() as Manifest)
  await gatehouse.write('seal.yaml', ...manifests.filter(({ kind }) => kind === 'Secret'))
  await mesh.write(
    'mesh.yaml',
    ...gatewayDocuments,
    backend('api', parties.api.port),
    backend('llm', parties.llm.port),
    route('public', '/public', 'api'),
  )
  // It looks at files that change only once it has begun to serve.
  await eventually(async () => {
    expect((await send(ORIGIN, '/public')).status).toBe(200)
  }, 90_000)
  await restore()
}, 300_000)

afterAll(async () => {
  await gatehouse.close()
  await mesh.close()
  await Promise.all([parties.close(), idp.close()])
})

/** Restores the exported manifests. Resolves when all of them are in force. */
async function restore(): Promise<void> {
  await mesh.write('gatehouse.yaml', ...manifests)
  await eventually(async () => {
    expect((await call('/api')).status).toBe(200)
    expect((await chat('/v1/chat/completions')).status).toBe(200)
    expect((await chat('/both')).status).toBe(200)
  }, 90_000)
}

const call = async (path: string) =>
  send(ORIGIN, path, { ...initialize, headers: bearer(await issuedToken(key)) })

const chat = async (path: string, content = newPrompt()) =>
  sendChat({ origin: ORIGIN, path }, await issuedToken(key), content)

test('requests pass, and no backend sees the marks', async () => {
  const { requests } = parties.api
  requests.length = 0
  expect((await call('/api')).status).toBe(200)
  expect((await chat('/both')).status).toBe(200)
  const names = requests.flatMap(({ headers }) => Object.keys(headers))
  expect(requests).toHaveLength(2)
  expect(names.filter((name) => name.startsWith('x-gatehouse'))).toEqual([])
})

test.each([
  ['application/json', 403],
  // Its headers have been sent.
  ['text/event-stream', 200],
] as const)(
  'a reply that a webhook rejects does not reach the client (%s)',
  async (type, status) => {
    const content = 'They block it.'
    const chunk = {
      ...completion(''),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { role: 'assistant', content } }],
    }
    const body =
      type === 'application/json'
        ? JSON.stringify(completion(content))
        : `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
    const prompt = newPrompt()
    parties.answerNext(type, body)
    const answer = await chat('/both', prompt)
    expect([answer.status, answer.body]).toEqual([
      status,
      expect.stringContaining('request blocked'),
    ])
    expect(answer.body).not.toContain('They')
    expect(parties.prompts().filter((one) => one === prompt)).toHaveLength(1)
  },
)

test.each(['x-gatehouse-passed', 'x-gatehouse-seen'])(
  'a guessed mark (%s) is 401',
  async (name) => {
    const { requests } = parties.api
    requests.length = 0
    const answer = await send(ORIGIN, '/api', { ...initialize, headers: { [name]: 'guessed' } })
    expect(answer.status).toBe(401)
    expect(requests).toEqual([])
  },
)

describe('what opens other routes', () => {
  const without = (kind: string, name: string): readonly Manifest[] =>
    manifests.filter((one) => one.kind !== kind || one.metadata.name !== name)
  const misspelt = (kind: string, name: string): readonly object[] =>
    manifests.map((one) =>
      one.kind === kind && one.metadata.name === name
        ? (JSON.parse(
            JSON.stringify(one).replace(
              '"kind":"HTTPRoute","name":"',
              '"kind":"HTTPRoute","name":"x-',
            ),
          ) as object)
        : one,
    )
  const other = (kind: string, on: string, spec: object): object => ({
    apiVersion: 'gateway.envoyproxy.io/v1alpha1',
    kind,
    // Of two policies of one age the first by name is in force.
    metadata: { name: `a-${on}`, namespace: 'default' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: on }],
      ...spec,
    },
  })
  const cors = { cors: { allowOrigins: ['*'] } }
  /** Without a processingMode nothing is sent. */
  const UNSENT = {
    backendRefs: [{ group: 'gateway.envoyproxy.io', kind: 'Backend', name: 'gatehouse' }],
  }

  /** With another spec of one object. */
  const changed = (
    kind: string,
    name: string,
    change: (spec: Record<string, unknown>) => object,
  ): readonly object[] =>
    manifests.map((one) =>
      one.kind === kind && one.metadata.name === name ? { ...one, spec: change(one.spec) } : one,
    )
  const misspeltRule = (kind: string, name: string): readonly object[] =>
    changed(kind, name, ({ targetRefs, ...rest }) => ({
      ...rest,
      targetRefs: (targetRefs as readonly object[]).map((each) => ({
        ...each,
        sectionName: 'misspelt',
      })),
    }))
  /** With other members of the ext_proc filter of a guarded route. */
  const filtered = (more: object): readonly object[] =>
    changed('EnvoyExtensionPolicy', 'gatehouse-llm', ({ extProc, ...rest }) => ({
      ...rest,
      extProc: (extProc as readonly object[]).map((each) => ({ ...each, ...more })),
    }))
  const attributes = ['xds.route_name']

  const rows: [string, () => readonly object[], string][] = [
    [
      'a SecurityPolicy that names no rule',
      () => misspeltRule('SecurityPolicy', 'gatehouse-api'),
      '/api',
    ],
    [
      'an EnvoyExtensionPolicy that names no rule',
      () => misspeltRule('EnvoyExtensionPolicy', 'gatehouse-llm'),
      '/v1/chat/completions',
    ],
    [
      'one that forgives errors and buffers bodies',
      () =>
        filtered({
          failOpen: true,
          statusOnError: undefined,
          processingMode: {
            request: { body: 'Buffered', attributes },
            response: { body: 'Buffered', attributes },
          },
        }),
      '/v1/chat/completions',
    ],
    [
      'one that does not send replies',
      () => filtered({ processingMode: { request: { body: 'FullDuplexStreamed', attributes } } }),
      '/v1/chat/completions',
    ],
    [
      'one that sends replies without their bodies',
      () =>
        filtered({
          processingMode: { request: { body: 'FullDuplexStreamed', attributes }, response: {} },
        }),
      '/v1/chat/completions',
    ],
    ['a SecurityPolicy that is deleted', () => without('SecurityPolicy', 'gatehouse-api'), '/api'],
    ['one that names no route', () => misspelt('SecurityPolicy', 'gatehouse-api'), '/api'],
    [
      "somebody else's policy on the route",
      () => [...manifests, other('SecurityPolicy', 'api', cors)],
      '/api',
    ],
    [
      'an EnvoyExtensionPolicy that is deleted',
      () => without('EnvoyExtensionPolicy', 'gatehouse-llm'),
      '/v1/chat/completions',
    ],
    [
      'one that is deleted beside a SecurityPolicy',
      () => without('EnvoyExtensionPolicy', 'gatehouse-both'),
      '/both',
    ],
    [
      "somebody else's guard on the route",
      () => [...manifests, other('EnvoyExtensionPolicy', 'llm', { extProc: [UNSENT] })],
      '/v1/chat/completions',
    ],
  ]
  test.each(rows)('%s: 503, and nothing reaches a backend', async (_, changed, path) => {
    await mesh.write('gatehouse.yaml', ...changed())
    await eventually(async () => {
      expect((await chat(path)).status).toBe(503)
    }, 60_000)
    // The mesh cuts off what it still serves: that chat may have been asked about and reach the LLM nevertheless.
    const { requests } = parties.api
    const before = requests.length
    const prompt = newPrompt()
    expect((await chat(path, prompt)).status).toBe(503)
    expect([401, 503]).toContain((await send(ORIGIN, path, initialize)).status)
    expect(parties.prompts()).not.toContain(prompt)
    const bodies = requests.slice(before).map(({ body }) => body)
    expect(bodies.filter((body) => body === initialize.body || body.includes(prompt))).toEqual([])
    expect(parties.unasked()).toEqual([])
    await restore()
  })
})
