// serve --kubernetes --provision with TLS: created Envoys serve HTTPS listeners, known by the tokens of their service accounts,
// and nobody else is served, nor an Envoy of one Gateway with the configuration of another.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { Client, credentials, Metadata, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EnvoyChild } from '../../src/cli/run-envoy/child.js'
import { PROVISION_TLS_FEATURES } from '../../src/control/translate/status/supported-features.js'
import { CheckRequestSchema } from '../../src/wire/grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import { DeltaDiscoveryRequestSchema } from '../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import { HealthCheckRequestSchema } from '../../src/wire/grpc/generated/grpc/health/v1/health_pb.js'
import { LISTENER_TYPE, SECRET_TYPE } from '../../src/xds/encode/type-urls.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { startBackend } from '../support/backend.js'
import { type KeyPair, selfSigned } from '../support/certificates.js'
import { authorizationService, discoveryService, healthService } from '../support/grpc-client.js'
import { gateway, httpRoute, prefix } from '../support/resources.js'
import { startCreatedEnvoy, tokenFor } from './support/created-envoy.js'
import {
  endpointSlice,
  gatewayClass,
  inNamespace,
  policy,
  service,
  tlsSecret,
} from './support/objects.js'
import { rolesFor } from './support/roles.js'
import { apiServerFor } from './support/shared-api-server.js'

const AUDIENCE = 'gatehouse.infra.svc'
const TENANTS = ['alice', 'bob'] as const

type Tenant = (typeof TENANTS)[number]

const own = selfSigned(AUDIENCE)
const certificates: Readonly<Record<Tenant, KeyPair>> = {
  alice: selfSigned('alice.example'),
  bob: selfSigned('bob.example'),
}
const ports = new Map<Tenant, number>()

let api: ApiServer
let backend: Awaited<ReturnType<typeof startBackend>>
let replica: Replica
let grpc: string
let folder: string
let flags: readonly string[]
const envoys: EnvoyChild[] = []
const clients: Client[] = []

beforeAll(async () => {
  api = await apiServerFor()
  backend = await startBackend('app', { host: ADDRESS })
  await api.apply(gatewayClass())
  for (const tenant of TENANTS) await deploy(tenant)
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'mallory' } })
  await api.apply({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'gw-gatehouse', namespace: 'mallory' },
  })
  grpc = `${ADDRESS}:${String(await freePort())}`
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-created-'))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(cert, own.cert), writeFile(key, own.key)])
  flags = [
    '--provision',
    '--connect',
    grpc,
    '--connect-tls',
    AUDIENCE,
    '--connect-ca',
    cert,
    '--grpc-tls-cert',
    cert,
    '--grpc-tls-key',
    key,
  ]
  replica = await startReplica({ kubeconfig: await api.kubeconfig(), grpc, flags })
  for (const namespace of TENANTS) {
    const options = { namespace, audience: AUDIENCE, folder: join(folder, namespace) }
    envoys.push(await startCreatedEnvoy(api, options))
  }
}, 180_000)

afterAll(async () => {
  for (const client of clients) client.close()
  for (const envoy of envoys) await envoy.stop()
  await replica.stop()
  await backend.close()
  await api.close()
  await rm(folder, { recursive: true })
})

/** Creates a Gateway with an HTTPS listener, and an application behind it that may only be read. */
async function deploy(tenant: Tenant): Promise<void> {
  const port = await freePort()
  ports.set(tenant, port)
  const tls = { certificateRefs: [{ name: 'certificate' }] }
  const objects = [
    tlsSecret('certificate', certificates[tenant]),
    gateway([{ name: 'https', port, protocol: 'HTTPS', tls }]),
    service('app'),
    endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
    policy('rule', {
      authorization: { policy: { matchExpressions: ['request.method == "GET"'] } },
    }),
  ]
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: tenant } })
  await api.apply(...objects.map((object) => inNamespace(tenant, object)))
}

/** Resolves to the status of a request to the Gateway of the tenant, whose certificate must be its own. */
async function statusOf(tenant: Tenant, method: string): Promise<number | undefined> {
  const { cert: ca } = certificates[tenant]
  const options = { ca, servername: `${tenant}.example`, agent: false as const, method }
  const call = request(`https://127.0.0.1:${String(ports.get(tenant))}/`, options)
  call.end()
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

test.each(TENANTS)('an Envoy serves the HTTPS listener and the policy of %s', async (tenant) => {
  await eventually(async () => expect(await statusOf(tenant, 'GET')).toBe(200), 60_000)
  expect(await statusOf(tenant, 'POST')).toBe(403)
})

function connect(to = grpc): Client {
  const options = { 'grpc.ssl_target_name_override': AUDIENCE }
  const client = new Client(to, credentials.createSsl(Buffer.from(own.cert)), options)
  clients.push(client)
  return client
}

function metadataWith(token: string | undefined): Metadata {
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('x-gatehouse-token', token)
  return metadata
}

interface Answer {
  readonly code: number
  readonly details: string
  /** Names of the resources of the first response. */
  readonly names: readonly string[]
}

/** Asks for the resources of a type as an Envoy of the Gateway, with a connection of its own. */
async function ask(cluster: string, typeUrl: string, token?: string, to = grpc): Promise<Answer> {
  const { path, requestSerialize, responseDeserialize } =
    discoveryService['deltaAggregatedResources']!
  const client = connect(to)
  const stream = client.makeBidiStreamRequest(
    ...([path, requestSerialize, responseDeserialize, metadataWith(token)] as const),
  )
  const ended = new Promise<Answer>((resolve) =>
    stream.on('status', ({ code, details }) => resolve({ code, details, names: [] })),
  )
  stream.on('error', () => undefined)
  const answered = new Promise<Answer>((resolve) =>
    stream.on('data', ({ resources }: { resources: readonly { name: string }[] }) =>
      resolve({ code: status.OK, details: '', names: resources.map(({ name }) => name) }),
    ),
  )
  const node = { id: 'test', cluster }
  stream.write(
    create(DeltaDiscoveryRequestSchema, { node, typeUrl, resourceNamesSubscribe: ['*'] }),
  )
  const answer = await Promise.race([ended, answered])
  stream.cancel()
  return answer
}

/** Makes a unary call, and resolves to its status and details. */
function callOnce(which: 'check' | 'health', token?: string): Promise<Omit<Answer, 'names'>> {
  const method = which === 'check' ? authorizationService['check']! : healthService['check']!
  const message = create(which === 'check' ? CheckRequestSchema : HealthCheckRequestSchema)
  const { path, requestSerialize, responseDeserialize } = method
  const deadline = new Date(Date.now() + 30_000)
  return new Promise((resolve) => {
    connect()
      .makeUnaryRequest(
        ...([path, requestSerialize, responseDeserialize, message, metadataWith(token)] as const),
        ...([{ deadline }, () => undefined] as const),
      )
      .on('status', ({ code, details }) => resolve({ code, details }))
  })
}

const account = (namespace: string) => ({ namespace, name: 'gw-gatehouse' })

describe('an Envoy', () => {
  test('reads the configuration of its own Gateway', async () => {
    const token = await tokenFor(api, account('alice'), AUDIENCE)
    const { code, names } = await ask('alice/gw', LISTENER_TYPE, token)
    expect({ code, count: names.length }).toEqual({ code: status.OK, count: 1 })
    expect((await ask('alice/gw', SECRET_TYPE, token)).names).toEqual(['alice/certificate'])
  })

  test.each(['bob/gw', '*', 'alice/other', ''])('does not read that of "%s"', async (cluster) => {
    const token = await tokenFor(api, account('alice'), AUDIENCE)
    expect(await ask(cluster, LISTENER_TYPE, token)).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: 'this Envoy serves the Gateway alice/gw',
    })
  })
})

describe('nobody is served', () => {
  const rows: readonly [string, () => Promise<string | undefined>, number, string][] = [
    [
      'without a token',
      () => Promise.resolve(undefined),
      ...([status.UNAUTHENTICATED, 'expected a client certificate or a token'] as const),
    ],
    [
      'with a text that is no token',
      () => Promise.resolve('a.b.c'),
      ...([status.UNAUTHENTICATED, 'expected the token of a service account'] as const),
    ],
    [
      'with the token of another service account',
      () => tokenFor(api, account('mallory'), AUDIENCE),
      status.PERMISSION_DENIED,
      'no Gateway has Envoys of the service account mallory/gw-gatehouse',
    ],
    [
      'with a token for another audience',
      () => tokenFor(api, account('alice'), 'https://kubernetes.default.svc'),
      ...([status.UNAUTHENTICATED, `expected a token with the audience ${AUDIENCE}`] as const),
    ],
    [
      'with a token that nobody signed',
      async () => (await tokenFor(api, account('alice'), AUDIENCE)).replace(/[^.]+$/, 'AAAA'),
      ...([status.UNAUTHENTICATED, 'the API server refused the token'] as const),
    ],
    [
      'with one that nobody signed, for the account of no Envoy',
      async () => (await tokenFor(api, account('mallory'), AUDIENCE)).replace(/[^.]+$/, 'AAAA'),
      ...([status.UNAUTHENTICATED, 'the API server refused the token'] as const),
    ],
  ]

  test.each(rows)('%s', async (_how, token, code, details) => {
    expect(await ask('alice/gw', LISTENER_TYPE, await token())).toMatchObject({ code, details })
    expect(await callOnce('check', await token())).toEqual({ code, details })
  })
})

test('refused calls are counted by reason', async () => {
  await callOnce('check')
  const lines = (await replica.metrics()).split('\n')
  const refused = lines.filter((line) => line.startsWith('gatehouse_envoy_tokens_refused_total{'))
  expect(refused).toHaveLength(6)
  const none = refused.find((line) => line.includes('reason="none"')) ?? ''
  expect(Number(none.split(' ')[1])).toBeGreaterThan(0)
})

test('the GatewayClass claims the features of HTTPS listeners', async () => {
  const { status: found } = await api.get(
    'gateway.networking.k8s.io/v1',
    'GatewayClass',
    'gatehouse',
  )
  expect(found).toMatchObject({
    supportedFeatures: PROVISION_TLS_FEATURES.map((name) => ({ name })),
  })
})

test('health needs no token: the health checks of an Envoy have none', async () => {
  expect(await callOnce('health')).toMatchObject({ code: status.OK })
})

test('without the right to review tokens no Envoy is served, and the log says why', async () => {
  const user = 'guest-1'
  const values = { envoys: { provision: true }, tls: { secretName: 'server' }, references: 'all' }
  const permission = { group: 'authentication.k8s.io', resource: 'tokenreviews', verbs: [] }
  await api.apply(...rolesFor(user, values, { permission, verb: 'create' }))
  const to = `${ADDRESS}:${String(await freePort())}`
  const guest = await startReplica({
    kubeconfig: await api.kubeconfig(user),
    name: user,
    lease: user,
    grpc: to,
    flags,
  })
  try {
    const token = await tokenFor(api, account('alice'), AUDIENCE)
    expect(await ask('alice/gw', LISTENER_TYPE, token, to)).toMatchObject({
      code: status.UNAVAILABLE,
      details: 'the token cannot be reviewed',
    })
    expect(guest.log()).toContain('cannot create resource \\"tokenreviews\\"')
    expect(guest.log()).not.toContain(token.split('.')[2])
    await api.apply(...rolesFor(user, values))
    await eventually(async () => {
      expect((await ask('alice/gw', LISTENER_TYPE, token, to)).code).toBe(status.OK)
    }, 30_000)
  } finally {
    await guest.stop()
  }
})

test('a token is never logged', async () => {
  const token = await tokenFor(api, account('alice'), AUDIENCE)
  const before = replica.log().length
  expect((await ask('alice/gw', LISTENER_TYPE, token)).code).toBe(status.OK)
  expect((await ask('bob/gw', LISTENER_TYPE, token)).code).toBe(status.PERMISSION_DENIED)
  // What the log gets about a later change comes after whatever it got about the token.
  await api.apply(
    inNamespace('bob', httpRoute('later', { rules: [{ matches: [prefix('/later')] }] })),
  )
  await eventually(() => expect(replica.log().slice(before)).toContain('"configuration published"'))
  expect(replica.log()).not.toContain(token.split('.')[2])
})

describe('with workers', () => {
  beforeAll(async () => {
    await replica.stop()
    const kubeconfig = await api.kubeconfig()
    replica = await startReplica({ kubeconfig, grpc, flags: [...flags, '--workers', '2'] })
  }, 60_000)

  test.each(TENANTS)('Envoys come back, and serve the policy of %s', async (tenant) => {
    await eventually(async () => expect(await statusOf(tenant, 'GET')).toBe(200), 60_000)
    expect(await statusOf(tenant, 'POST')).toBe(403)
  })

  test('an Envoy reads the configuration of its own Gateway alone', async () => {
    const token = await tokenFor(api, account('alice'), AUDIENCE)
    expect((await ask('alice/gw', SECRET_TYPE, token)).names).toEqual(['alice/certificate'])
    expect(await ask('bob/gw', LISTENER_TYPE, token)).toMatchObject({
      code: status.PERMISSION_DENIED,
      details: 'this Envoy serves the Gateway alice/gw',
    })
  })

  test('nobody is served without a token, or with that of a pod that is no Envoy', async () => {
    const rows = [
      [undefined, status.UNAUTHENTICATED, 'expected a client certificate or a token'],
      [
        await tokenFor(api, account('mallory'), AUDIENCE),
        status.PERMISSION_DENIED,
        'no Gateway has Envoys of the service account mallory/gw-gatehouse',
      ],
    ] as const
    for (const [token, code, details] of rows) {
      expect(await ask('alice/gw', LISTENER_TYPE, token)).toMatchObject({ code, details })
      expect(await callOnce('check', token)).toEqual({ code, details })
    }
    expect(await callOnce('health')).toMatchObject({ code: status.OK })
  })
})
