// The chart with mutual TLS and few permissions, shared by a tenant with an attacker: what the attacker reaches.

import { once } from 'node:events'
import { request } from 'node:https'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiError } from '../../testing/api-call.js'
import { apiClient } from '../../testing/api-client.js'
import { eventually } from '../../testing/eventually.js'
import { inNamespace, tlsSecret } from '../kubernetes/support/objects.js'
import { selfSigned } from '../support/certificates.js'
import { send } from '../support/http.js'
import { backendRef, gateway, httpRoute, proxyBackend } from '../support/resources.js'
import { app } from './support/app.js'
import { addressOf, api, install, podsOf, readyPods, type Release } from './support/cluster.js'
import { SERVER } from './support/programs.js'
import { deployShop, expectShop } from './support/shop.js'

const NAMESPACE = 'hardened'
const ATTACKER = 'mallory'
const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const VALUES = {
  envoys: [
    {
      gateway: 'default/gw',
      serviceType: 'ClusterIP',
      ports: [
        { name: 'http', port: 80 },
        { name: 'https', port: 443 },
      ],
    },
  ],
  tls: { secretName: 'server', clientSecretName: 'client' },
  references: [{ namespace: 'default', secrets: ['shop-certificate'] }],
}

let release: Release
let address: string

beforeAll(async () => {
  const [server, client] = [selfSigned(`gatehouse.${NAMESPACE}.svc`), selfSigned('envoy.example')]
  await api.apply(
    ...[NAMESPACE, ATTACKER].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    })),
    inNamespace(NAMESPACE, mutual('server', server, client.cert)),
    inNamespace(NAMESPACE, mutual('client', client, server.cert)),
    tlsSecret('shop-certificate', selfSigned('shop.example')),
    tlsSecret('other-certificate', selfSigned('other.example')),
  )
  release = await install(NAMESPACE, VALUES)
  await deployShop()
  const tls = { certificateRefs: [{ name: 'shop-certificate' }] }
  const allowedRoutes = { namespaces: { from: 'All' } }
  await api.apply(
    gateway([
      { name: 'http', port: 80, protocol: 'HTTP', allowedRoutes },
      { name: 'https', port: 443, protocol: 'HTTPS', allowedRoutes, tls },
    ]),
    ...app('mallory', ATTACKER),
  )
  await readyPods(NAMESPACE, 4)
  address = await addressOf('gw')
  await expectShop(`http://${address}/`)
})

afterAll(() => release.uninstall())

/** A Secret for one side of mutual TLS. */
function mutual(name: string, own: { cert: string; key: string }, ca: string): object {
  const secret = tlsSecret(name, own) as { readonly stringData: object }
  return { ...secret, stringData: { ...secret.stringData, 'ca.crt': ca } }
}

describe('mutual TLS', () => {
  test('brings the private key of a listener to the Envoys', async () => {
    await eventually(async () => expect(await statusOverTls()).toBe(200), 60_000)
  })

  test('keeps clients without a certificate from the gRPC address', async () => {
    const [pod] = await podsOf(NAMESPACE, 'gatehouse')
    const options = { host: pod?.address ?? '', port: 18_000, rejectUnauthorized: false }
    const socket = connect({ ...options, ALPNProtocols: ['h2'] })
    socket.resume()
    const [error] = (await once(socket, 'error')) as [Error]
    expect(error.message).toMatch(/certificate required|ECONNRESET/i)
  })
})

const statusOverTls = (): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const options = { servername: 'shop.example', rejectUnauthorized: false, agent: false as const }
    request(`https://${address}/`, options, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })

describe("the service account's token", () => {
  test.each([
    ['GET', '/api/v1/namespaces/default/secrets'],
    ['GET', '/api/v1/namespaces/default/secrets/other-certificate'],
    ['GET', `/api/v1/namespaces/${NAMESPACE}/secrets/server`],
    ['GET', `/api/v1/namespaces/${NAMESPACE}/pods`],
    ['POST', `/api/v1/namespaces/${NAMESPACE}/pods`],
    ['DELETE', `/apis/${GATEWAY_API}/namespaces/default/gateways/gw`],
    ['DELETE', `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/gatehouse`],
  ] as const)('cannot %s %s', async (method, path) => {
    const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/gatehouse/token`
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
    const { status } = await api.call('POST', account, body)
    const gatehouse = apiClient(SERVER, (status as { token: string }).token)
    const failure = await gatehouse.call(method, path, method === 'POST' ? {} : undefined).then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(ApiError)
    expect((failure as ApiError).status).toBe(403)
  })

  test('is not in the pods of the Envoys', async () => {
    const [pod] = await podsOf(NAMESPACE, `gatehouse-default-gw`)
    const { spec } = await api.get('v1', 'Pod', pod?.name ?? '', NAMESPACE)
    expect(JSON.stringify(spec)).not.toContain('serviceAccountToken')
  })
})

describe('an attacker with a namespace', () => {
  const attack = async (name: string, ...objects: readonly object[]): Promise<void> => {
    await api.apply(...objects.map((object) => inNamespace(ATTACKER, object)))
    await eventually(async () => {
      const route = await api.get(GATEWAY_API, 'HTTPRoute', name, ATTACKER)
      expect(JSON.stringify(route.status)).toContain('"ResolvedRefs"')
    }, 60_000)
  }
  const routeTo = (name: string, ref: object, path = '/'): object =>
    httpRoute(name, {
      parentRefs: [{ name: 'gw', namespace: 'default' }],
      hostnames: [`${name}.example`],
      rules: [{ matches: [{ path: { type: 'PathPrefix', value: path } }], backendRefs: [ref] }],
    })
  const statusOf = async (name: string, path = '/'): Promise<number> =>
    (await send(`http://${address}`, path, { headers: { host: `${name}.example` } })).status

  test('reaches the own application', async () => {
    await attack('own', routeTo('own', { name: 'mallory', port: 80 }))
    await eventually(async () => expect(await statusOf('own')).toBe(200), 60_000)
  })

  test("does not reach another tenant's Service", async () => {
    const ref = { name: 'shop', namespace: 'default', port: 80 }
    await attack('foreign', routeTo('foreign', ref))
    await eventually(async () => expect(await statusOf('foreign')).toBe(500), 60_000)
  })

  test.each([
    ['name', `gatehouse.${NAMESPACE}.svc.cluster.local`, 18_001],
    ['short', `gatehouse.${NAMESPACE}`, 18_000],
    ['loopback', '127.0.0.1', 18_001],
    ['metadata', '169.254.169.254', 80],
  ])('does not reach Gatehouse or its machine by a ProxyBackend: %s', async (name, host, port) => {
    const backend = proxyBackend(name, { host, port })
    await attack(name, backend, routeTo(name, backendRef(name)))
    await eventually(async () => expect(await statusOf(name, '/metrics')).toBe(503), 60_000)
  })

  test('does not reach the pods of Gatehouse by their addresses', async () => {
    for (const [index, pod] of (await podsOf(NAMESPACE, 'gatehouse')).entries()) {
      const name = `pod-${String(index)}`
      const backend = proxyBackend(name, { host: pod.address, port: 18_001 })
      await attack(name, backend, routeTo(name, backendRef(name)))
      await eventually(async () => expect(await statusOf(name, '/metrics')).toBe(503), 60_000)
    }
  })

  test("does not take over another tenant's path, or the Gateway's address", async () => {
    const everything = httpRoute('everything', {
      parentRefs: [{ name: 'gw', namespace: 'default' }],
      rules: [{ backendRefs: [{ name: 'mallory', port: 80 }] }],
    })
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'decoy',
        labels: {
          'gateway.networking.k8s.io/gateway-name': 'gw',
          'policy.gatehouse.dev/gateway-namespace': 'default',
        },
      },
      spec: { selector: { app: 'mallory' }, ports: [{ name: 'http', port: 80 }] },
    }
    await attack('everything', service, everything)
    await expectShop(`http://${address}/`)
    expect(await addressOf('gw')).toBe(address)
  })
})

test('each pod is selected by a NetworkPolicy that limits both directions', async () => {
  // No CNI plugin of this cluster enforces them: this is about their selectors.
  const path = `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`
  const { items } = (await api.call('GET', path)) as unknown as { items: readonly Policy[] }
  for (const { name } of await podsOf(NAMESPACE)) {
    const { metadata } = (await api.get('v1', 'Pod', name, NAMESPACE)) as unknown as Labelled
    const selecting = items.filter(({ spec }) =>
      Object.entries(spec.podSelector.matchLabels).every(
        ([label, value]) => metadata.labels[label] === value,
      ),
    )
    expect(selecting.map(({ spec }) => spec.policyTypes)).toEqual([['Ingress', 'Egress']])
  }
})

interface Labelled {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> }
}

interface Policy {
  readonly spec: {
    readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> }
    readonly policyTypes: readonly string[]
  }
}
