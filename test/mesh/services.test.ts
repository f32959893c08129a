// Gatehouse as a Service in another namespace, beside a real Envoy Gateway with an API server, with and without TLS:
// checks, guards, and sealed routes that lead to its closed port.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { startGuardrailWebhook } from '../../src/cli/demo/guardrail-webhook.js'
import type { Program } from '../../src/cli/demo/program.js'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { endpointSlice, inNamespace } from '../kubernetes/support/objects.js'
import { apiServerFor } from '../kubernetes/support/shared-api-server.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { answerJson, both, completion, hook, service } from '../support/guardrails.js'
import { bearer, send } from '../support/http.js'
import { proxyPolicy } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import { applyDefinitions, furtherDefinitions } from './support/definitions.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { serviceTo } from './support/istio.js'
import { gatewayDocumentsFor, route } from './support/resources.js'
import { translateFor } from './support/translate.js'

/** Not 8080, on which Envoy Gateway itself listens beside an API server. */
const PORT = 8095
const ORIGIN = `http://127.0.0.1:${String(PORT)}`
const [GRPC, CLOSED] = [18_005, 18_009]
const HOST = 'gatehouse.gatehouse.svc.cluster.local'
const NAME = 'gatehouse.example'
const ISSUER = 'https://idp.example'

const key = await newKey('k1')
const pair = selfSigned(NAME)

let api: Backend
let webhook: Program
let webhookPort: number
let cluster: ApiServer
let mesh: EnvoyGateway
let folder: string
let gatehouse: Gatehouse | undefined

const toApi = () => ({ backendRefs: [{ name: 'api', port: api.port }] })

const endpoints = (name: string, port: number): object => ({
  ...endpointSlice('gatehouse', [{ address: ADDRESS, port }], `gatehouse-${name}`),
  ports: [{ name, port, protocol: 'TCP' }],
})

const policies = (): readonly object[] => [
  ...gatewayDocumentsFor(PORT),
  route('api', '/api', 'api', toApi()),
  proxyPolicy('api', 'api', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify(keySet(key)) } }],
    },
  }),
  {
    apiVersion: 'policy.gatehouse.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'api-guard' },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'api' }],
      backend: { ai: { promptGuard: both(hook('guardrail')) } },
    },
  },
  ...service('guardrail', webhookPort),
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'gatehouse-seal' },
    stringData: { seal: '0123456789abcdef0123456789abcdef' },
  },
]

beforeAll(async () => {
  webhookPort = await freePort()
  cluster = await apiServerFor()
  await applyDefinitions(cluster, furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'))
  ;[api, webhook, folder] = await Promise.all([
    startBackend('api', { host: ADDRESS }),
    startGuardrailWebhook(webhookPort),
    mkdtemp(join(tmpdir(), 'gatehouse-mesh-services-')),
  ])
  api.answer(answerJson(completion('I am bob@example.com.')))
  await writeFile(join(folder, 'tls.crt'), pair.cert)
  await writeFile(join(folder, 'tls.key'), pair.key)
  // A new kind is served a moment later.
  await eventually(() =>
    cluster.apply(
      ...['gatehouse', 'envoy-gateway-system'].map((name) => ({
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name },
      })),
      ...gatewayDocumentsFor(PORT),
      route('public', '/public', 'api', toApi()),
      ...[
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'gatehouse' },
          spec: {
            ports: [
              { name: 'grpc', port: GRPC },
              { name: 'closed', port: CLOSED },
            ],
          },
        },
        endpoints('grpc', GRPC),
        endpoints('closed', CLOSED),
        {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'gatehouse-ca' },
          data: { 'ca.crt': pair.cert },
        },
      ].map((object) => inNamespace('gatehouse', object)),
      ...serviceTo('api', api.port),
    ),
  )
  mesh = await startEnvoyGateway(cluster)
  await eventually(async () => {
    expect((await send(ORIGIN, '/public')).status).toBe(200)
  }, 90_000)
}, 300_000)

afterAll(async () => {
  await gatehouse?.close()
  await mesh.close()
  await cluster.close()
  await Promise.all([api.close(), webhook.close()])
  await rm(folder, { recursive: true })
})

const chat = async () =>
  send(ORIGIN, '/api', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...bearer(await signToken({ key, claims: { iss: ISSUER } })),
    },
    body: JSON.stringify({ model: 'sample', messages: [{ role: 'user', content: 'Hello' }] }),
  })

test.each([
  ['without TLS', [], []],
  [
    'with TLS',
    ['--connect-tls', NAME],
    () => ['--grpc-tls-cert', join(folder, 'tls.crt'), '--grpc-tls-key', join(folder, 'tls.key')],
  ],
] as const)(
  '%s, checks and guards reach it, and nothing passes without them',
  async (_, connect, own) => {
    await gatehouse?.close()
    gatehouse = await startGatehouse({
      command: 'serve',
      resources: policies(),
      flags: [
        '--for',
        'envoy-gateway',
        '--route-key',
        'envoy-gateway',
        '--grpc',
        `${ADDRESS}:${String(GRPC)}`,
        '--closed',
        `${ADDRESS}:${String(CLOSED)}`,
        ...(typeof own === 'function' ? own() : own),
      ],
    })
    const printed = await translateFor(
      'envoy-gateway',
      '--sealed',
      gatehouse.folder,
      ...connect,
      '--connect',
      `${HOST}:${String(GRPC)}`,
      '--closed',
      `${HOST}:${String(CLOSED)}`,
    )
    const manifests = parseAllDocuments(printed).map((document) => document.toJS() as AnyObject)
    expect(manifests.map(({ kind }) => kind)).not.toContain('Backend')
    await cluster.apply(...manifests)
    await eventually(async () => {
      expect((await send(ORIGIN, '/api')).status).toBe(401)
      expect(await chat()).toMatchObject({ status: 200 })
    }, 60_000)
    expect((await chat()).body).not.toContain('@example.com')
    await cluster.delete(...manifests.filter(({ kind }) => kind === 'SecurityPolicy'))
    await eventually(async () => {
      expect((await chat()).status).toBe(503)
    }, 60_000)
  },
)
