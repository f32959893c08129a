// What a namespace must not reach through Envoy: loopback, link-local addresses and Gatehouse itself; and what it may.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, type ReplicaOptions, startReplica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { send } from '../support/http.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import {
  API_GROUP,
  backendRef,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../support/resources.js'
import { endpointSlice, gatewayClass, inNamespace, service, tlsSecret } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
/** The endpoint of Gatehouse's own Service beside the pod. */
const REPLICA_2 = '10.99.0.2'

let api: ApiServer
let folder: string
let hosts: string
let replica: Replica
let envoy: OtherEnvoy
let app: Backend
/** A server on loopback, on the port of the other one. */
let secret: Backend
let port: number

const tenants = (object: object): object => inNamespace('tenant', object)

const routeTo = (name: string, ref: object): object =>
  tenants(
    httpRoute(name, {
      parentRefs: [{ name: 'gw', namespace: 'default' }],
      hostnames: [`${name}.example`],
      rules: [{ backendRefs: [ref] }],
    }),
  )

const toBackend = (name: string, host: string, at: number): readonly object[] => [
  tenants(proxyBackend(name, { host, port: at })),
  routeTo(name, backendRef(name)),
]

const toExternalName = (name: string, externalName: string, at: number): readonly object[] => [
  tenants({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: {
      type: 'ExternalName',
      externalName,
      ports: [{ name: 'http', port: at, appProtocol: 'kubernetes.io/h2c' }],
    },
  }),
  routeTo(name, { name, port: at }),
]

async function call(name: string): Promise<{ status: number; body: string }> {
  const { status, body } = await send(`http://127.0.0.1:${String(port)}`, '/', {
    headers: { host: `${name}.example` },
  })
  return { status, body }
}

/** ResolvedRefs of the route's only parent. */
async function resolvedRefs(name: string): Promise<Condition | undefined> {
  const { status } = await api.get(GATEWAY_API, 'HTTPRoute', name, 'tenant')
  const { parents = [] } = (status ?? {}) as { parents?: { conditions: Condition[] }[] }
  return parents[0]?.conditions.find(({ type }) => type === 'ResolvedRefs')
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

async function isRefused(
  name: string,
  message: string,
  reason = 'ForbiddenAddress',
): Promise<void> {
  await eventually(async () => {
    expect(await resolvedRefs(name)).toMatchObject({ status: 'False', reason })
    expect((await resolvedRefs(name))?.message).toContain(message)
    expect((await call(name)).status).toBe(503)
  }, 30_000)
}

const leadsTo = (name: string, body: string): Promise<void> =>
  eventually(async () => expect(await call(name)).toEqual({ status: 200, body }), 30_000)

async function start(options: Omit<ReplicaOptions, 'kubeconfig'> = {}): Promise<void> {
  replica = await startReplica({ kubeconfig: await api.kubeconfig(), hosts, ...options })
  envoy = await startOtherEnvoy(replica.grpc, 'default/gw')
}

async function stop(): Promise<void> {
  await envoy.stop()
  await replica.stop()
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-tenants-'))
  hosts = join(folder, 'hosts')
  await writeFile(hosts, '127.0.0.1 localhost\n')
  port = await freePort()
  app = await startBackend('app', { host: ADDRESS })
  secret = await startBackend('secret', { port: app.port })
  api = await apiServerFor()
  const all = { namespaces: { from: 'All' } }
  await api.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'tenant' } },
    gatewayClass(),
    gateway([{ name: 'http', port, protocol: 'HTTP', allowedRoutes: all }]),
    service('gatehouse', 18_000),
    endpointSlice('gatehouse', [{ address: REPLICA_2, port: secret.port }]),
  )
})

afterEach(() => expect(secret.requests.splice(0).length).toBe(0))

afterAll(async () => {
  await Promise.all([secret.close(), app.close()])
  await api.close()
  await rm(folder, { recursive: true })
})

describe('a namespace', () => {
  beforeAll(() => start())
  afterAll(() => stop())

  test.each([
    ['loopback', '127.0.0.1', '127.0.0.1 is a loopback address'],
    ['short', '127.1', '127.1 is 127.0.0.1, a loopback address'],
    ['decimal', '2130706433', '2130706433 is 127.0.0.1, a loopback address'],
    ['hex', '0x7f000001', '0x7f000001 is 127.0.0.1, a loopback address'],
    ['octal', '0177.0.0.1', '0177.0.0.1 is 127.0.0.1, a loopback address'],
    ['mapped', '::ffff:127.0.0.1', '::ffff:127.0.0.1 is a loopback address'],
    ['nat64', '64:ff9b::7f00:1', '64:ff9b::7f00:1 is a loopback address'],
    ['six', '::1', '::1 is a loopback address'],
    ['unspecified', '0.0.0.0', '0.0.0.0 is an unspecified address'],
    ['name', 'localhost', 'localhost is 127.0.0.1, a loopback address'],
    ['upper', 'LOCALHOST', '127.0.0.1, a loopback address'],
    ['below', 'a.localhost', 'a.localhost is 127.0.0.1, a loopback address'],
    ['metadata', '169.254.169.254', '169.254.169.254 is a link-local address'],
    ['replica', REPLICA_2, `${REPLICA_2} is an address of Gatehouse's own`],
  ])('does not reach %s by a ProxyBackend of %s', async (name, host, message) => {
    await api.apply(...toBackend(name, host, secret.port))
    await isRefused(name, message)
  })

  test('does not reach loopback by an ExternalName, nor the gRPC of Gatehouse', async () => {
    const grpc = Number(replica.grpc.split(':').at(-1))
    await api.apply(...toExternalName('external', 'localhost', grpc))
    await isRefused('external', 'localhost is 127.0.0.1, a loopback address')
  })

  test('does not reach addresses of Gatehouse by slices of its own', async () => {
    const endpoints = [REPLICA_2, ADDRESS].map((address) => ({ address, port: app.port }))
    await api.apply(
      tenants(service('slices')),
      tenants(endpointSlice('slices', endpoints.slice(0, 1))),
      routeTo('slices', { name: 'slices', port: 80 }),
    )
    await isRefused('slices', `${REPLICA_2} is an address of Gatehouse's own`)
    await api.apply(tenants(endpointSlice('slices', endpoints)))
    await leadsTo('slices', 'app')
    await eventually(async () =>
      expect(await resolvedRefs('slices')).toMatchObject({
        status: 'True',
        message: expect.stringContaining(`${REPLICA_2} is an address of Gatehouse's own`) as string,
      }),
    )
  })

  test("does not reach Gatehouse by its Service's own address", async () => {
    const { spec } = await api.get('v1', 'Service', 'gatehouse')
    const { clusterIP } = spec as { clusterIP: string }
    await api.apply(...toBackend('cluster-ip', clusterIP, 18_000))
    await isRefused('cluster-ip', `${clusterIP} is an address of Gatehouse's own`)
  })

  test('has no key set fetched from loopback', async () => {
    const hostOf = { 'keys-address': '127.0.0.1', 'keys-name': 'localhost' }
    const names = Object.keys(hostOf)
    const policies = names.map((name) => {
      const jwks = remoteJwks(name, secret.port, '/keys')
      const providers = [{ issuer: 'https://idp.example', jwks }]
      return tenants(proxyPolicy(name, name, { jwtAuthentication: { providers } }))
    })
    for (const [name, host] of Object.entries(hostOf))
      await api.apply(...toBackend(name, host, secret.port))
    await api.apply(...policies)
    for (const name of names)
      await eventually(async () => {
        const { status } = await api.get(`${API_GROUP}/v1alpha1`, 'ProxyPolicy', name, 'tenant')
        expect(JSON.stringify(status)).toContain('a loopback address, which is never called')
      })
    await api.delete(...policies)
  })

  test('reaches other addresses, and names that are theirs', async () => {
    await writeFile(hosts, `127.0.0.1 localhost\n${ADDRESS} app.test\n`)
    await api.apply(
      ...toBackend('plain', ADDRESS, app.port),
      ...toBackend('app', 'app.test', app.port),
    )
    await leadsTo('plain', 'app')
    await leadsTo('app', 'app')
    expect(await resolvedRefs('app')).toMatchObject({ status: 'True' })
  })

  test('gains nothing by a name that becomes another address', async () => {
    const lines = `127.0.0.1 localhost\n${ADDRESS} app.test\n`
    await writeFile(hosts, `${lines}${ADDRESS} turning.test\n`)
    await api.apply(...toBackend('turning', 'turning.test', secret.port))
    await eventually(async () =>
      expect(await resolvedRefs('turning')).toMatchObject({ status: 'True' }),
    )
    await writeFile(hosts, `${lines}127.0.0.1 turning.test\n`)
    await isRefused('turning', 'turning.test is 127.0.0.1, a loopback address')
    await writeFile(hosts, `${lines}169.254.169.254 turning.test\n${ADDRESS} turning.test\n`)
    await eventually(async () => {
      const refs = await resolvedRefs('turning')
      expect(refs).toMatchObject({ status: 'True' })
      expect(refs?.message).toContain('turning.test is 169.254.169.254, a link-local address')
    }, 30_000)
  })

  test('is shown the name that cannot be resolved, and keeps what it had', async () => {
    await api.apply(...toBackend('unknown', 'unknown.invalid', app.port))
    await isRefused('unknown', 'the name unknown.invalid cannot be resolved', 'NameNotResolved')
    await writeFile(hosts, '127.0.0.1 localhost\n')
    await eventually(async () => {
      expect((await resolvedRefs('app'))?.message).toContain('its last addresses stay in use')
    }, 30_000)
    expect(await call('app')).toEqual({ status: 200, body: 'app' })
  })

  test('leaves no name to Envoy', async () => {
    expect(await envoy.clusterTypes()).toEqual(new Set(['EDS', 'STATIC']))
  })
})

describe('a private key', () => {
  test('is not sent over loopback, where a route may lead', async () => {
    const securePort = await freePort()
    const listener = {
      name: 'https',
      port: securePort,
      protocol: 'HTTPS',
      tls: { certificateRefs: [{ name: 'web' }] },
    }
    await api.apply(tlsSecret('web', selfSigned('shop.test')), gateway([listener], 'secure'))
    replica = await startReplica({ kubeconfig: await api.kubeconfig() })
    envoy = await startOtherEnvoy(replica.grpc, 'default/secure')
    await eventually(() =>
      expect(replica.log()).toContain('private keys withheld: the connection is not private'),
    )
    const socket = connect({ host: '127.0.0.1', port: securePort, rejectUnauthorized: false })
    await expect(once(socket, 'secureConnect')).rejects.toThrow()
    await stop()
  })
})

describe("the pod's own addresses", () => {
  test('are refused too', async () => {
    await start({ environment: { POD_IPS: `${ADDRESS},fd00::5` } })
    await isRefused('plain', `${ADDRESS} is an address of Gatehouse's own`)
    await stop()
  })
})

describe('--allow-address', () => {
  test('lists exceptions', async () => {
    await start({ flags: ['--allow-address', `127.0.0.1:${String(app.port)}`] })
    await api.apply(
      ...toBackend('local', '127.0.0.1', app.port),
      ...toBackend('short', '127.1', app.port + 1),
    )
    await leadsTo('local', 'secret')
    expect(secret.requests.splice(0)).not.toEqual([])
    await isRefused('short', '127.1 is 127.0.0.1, a loopback address')
    await stop()
  })
})
