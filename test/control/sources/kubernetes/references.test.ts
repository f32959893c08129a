// Which Secrets of a cluster are read: only those that may be served.

import { expect, test } from 'vitest'
import { decodeObject } from '../../../../src/control/schema/decode/decode.js'
import type { PlainMap } from '../../../../src/control/schema/decode/plain-map.js'
import { collectResources } from '../../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import type { Resources } from '../../../../src/control/schema/kinds/resources.js'
import {
  createFindReferences,
  referenceKey,
} from '../../../../src/control/sources/kubernetes/references.js'
import { atOnce } from '../../../../src/kit/turns.js'

const GROUP = 'gateway.networking.k8s.io'
const CONTROLLER = 'policy.gatehouse.dev/gatehouse'
const findReferences = createFindReferences(CONTROLLER)

const secret = (name: string): object => ({ kind: 'Secret', name, namespace: 'bank' })
const shop = {
  apiVersion: `${GROUP}/v1`,
  kind: 'Gateway',
  metadata: { name: 'gw', namespace: 'shop' },
  spec: {
    gatewayClassName: 'gatehouse',
    listeners: [
      {
        name: 'https',
        port: 443,
        protocol: 'HTTPS',
        tls: { certificateRefs: [secret('one'), secret('two')] },
      },
    ],
  },
}
const gatewayClass = {
  apiVersion: `${GROUP}/v1`,
  kind: 'GatewayClass',
  metadata: { name: 'gatehouse' },
  spec: { controllerName: CONTROLLER },
}
const grant = (to: object, from: object = {}): PlainMap => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'ReferenceGrant',
  metadata: { name: 'grant', namespace: 'bank' },
  spec: {
    from: [{ group: GROUP, kind: 'Gateway', namespace: 'shop', ...from }],
    to: [{ group: '', kind: 'Secret', ...to }],
  },
})

function resourcesOf(...objects: readonly PlainMap[]): Resources {
  const kinds = kindsOf('policy.gatehouse.dev')
  const decoded = [gatewayClass, ...objects].flatMap(
    (object) => decodeObject(object, 'kubernetes', kinds).resources,
  )
  return collectResources(decoded).resources
}

const readWith = (...more: readonly PlainMap[]): readonly string[] =>
  atOnce(findReferences(resourcesOf(shop, ...more))).objects.map(referenceKey)

test.each([
  ['no grant', [], []],
  ['a grant for all', [grant({})], ['Secret/bank/one', 'Secret/bank/two']],
  ['a grant for one by its name', [grant({ name: 'one' })], ['Secret/bank/one']],
  ['a grant for another group', [grant({ group: 'example.com' })], []],
  ['a grant for a Gateway of another API', [grant({}, { group: 'example.com' })], []],
] as const)('of another namespace with %s', (_, grants, read) => {
  expect(readWith(...grants)).toEqual(read)
})

test('the certificate for backends is read, from another namespace with a grant', () => {
  const presenting = (ref: object): PlainMap => ({
    ...shop,
    metadata: { name: 'presenting', namespace: 'shop' },
    spec: {
      ...shop.spec,
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
      tls: { backend: { clientCertificateRef: ref } },
    },
  })
  const read = (...objects: readonly PlainMap[]): readonly string[] =>
    atOnce(findReferences(resourcesOf(...objects))).objects.map(referenceKey)
  expect(read(presenting({ name: 'own' }))).toEqual(['Secret/shop/own'])
  const elsewhere = presenting({ name: 'one', namespace: 'bank' })
  expect(read(elsewhere)).toEqual([])
  expect(read(elsewhere, grant({}))).toEqual(['Secret/bank/one'])
})

test('those of ListenerSets are read where the Gateway may allow them, with a grant for ListenerSets', () => {
  const gateway = (from?: string): PlainMap => ({
    ...shop,
    metadata: { name: 'gateway', namespace: 'shop' },
    spec: {
      gatewayClassName: 'gatehouse',
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
      ...(from === undefined ? {} : { allowedListeners: { namespaces: { from } } }),
    },
  })
  const set = (namespace: string, ref: object): PlainMap => ({
    apiVersion: `${GROUP}/v1`,
    kind: 'ListenerSet',
    metadata: { name: 'set', namespace },
    spec: {
      parentRef: { name: 'gateway', namespace: 'shop' },
      listeners: [{ name: 'https', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [ref] } }],
    },
  })
  const read = (...objects: readonly PlainMap[]): readonly string[] =>
    atOnce(findReferences(resourcesOf(...objects))).objects.map(referenceKey)
  const own = set('team', { name: 'own' })
  for (const from of [undefined, 'None', 'Same']) expect(read(gateway(from), own)).toEqual([])
  for (const from of ['All', 'Selector'])
    expect(read(gateway(from), own)).toEqual(['Secret/team/own'])
  expect(read(gateway('Same'), set('shop', { name: 'own' }))).toEqual(['Secret/shop/own'])
  const elsewhere = set('shop', { name: 'one', namespace: 'bank' })
  expect(read(gateway('All'), elsewhere, grant({}))).toEqual([])
  expect(read(gateway('All'), elsewhere, grant({}, { kind: 'ListenerSet' }))).toEqual([
    'Secret/bank/one',
  ])
})

test('the first 64 of a Gateway are read, and Gateways with more are reported', () => {
  const named = (name: string, count: number): PlainMap => ({
    ...shop,
    metadata: { name, namespace: 'shop' },
    spec: {
      ...shop.spec,
      listeners: Array.from({ length: count }, (_, index) => `s${String(index)}`).flatMap(
        // Two listeners for each five Secrets, which count once.
        (_, index, names) =>
          index % 5 > 1
            ? []
            : {
                name: `l${String(index)}`,
                port: 443,
                protocol: 'HTTPS',
                hostname: `h${String(index)}.example`,
                tls: {
                  certificateRefs: names
                    .slice(index - (index % 5), index - (index % 5) + 5)
                    .map((secretName) => ({ kind: 'Secret', name: secretName })),
                },
              },
      ),
    },
  })
  const resources = resourcesOf(named('gw', 65), named('other', 64))
  expect(atOnce(findReferences(resources)).gatewaysBeyond).toEqual([
    { namespace: 'shop', name: 'gw' },
  ])
  const read = atOnce(findReferences(resourcesOf(named('gw', 65)))).objects
  expect(read).toHaveLength(64)
  expect(read.map(({ name }) => name)).not.toContain('s64')
})

test('of a relay its keys and the secret of its client are read, of its own namespace', () => {
  const policy = {
    apiVersion: 'policy.gatehouse.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'mcp', namespace: 'shop' },
    spec: {
      targetRefs: [{ group: GROUP, kind: 'HTTPRoute', name: 'mcp' }],
      traffic: {
        jwtAuthentication: {
          providers: [{ issuer: 'https://idp.example', audiences: ['a'], jwks: { inline: '{}' } }],
          mcp: {
            authorizationServer: 'Relay',
            relay: {
              keyRef: [{ name: 'now' }, { name: 'before' }],
              clientSecretRef: { name: 'idp' },
            },
          },
        },
      },
    },
  }
  expect(readWith(policy)).toEqual(['Secret/shop/before', 'Secret/shop/idp', 'Secret/shop/now'])
})

const tlsPolicy = (service: string, ca: string, group = '', kind = 'Service'): PlainMap => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'BackendTLSPolicy',
  metadata: { name: `tls-${service}`, namespace: 'shop' },
  spec: {
    targetRefs: [{ group, kind, name: service }],
    validation: {
      hostname: 'a.example',
      caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: ca }],
    },
  },
})
const routeOn = (gateway: string, service: string): PlainMap => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'HTTPRoute',
  metadata: { name: `to-${service}`, namespace: 'shop' },
  spec: {
    parentRefs: [{ name: gateway }],
    rules: [{ backendRefs: [{ name: service, port: 443 }] }],
  },
})
const webhookPolicy: PlainMap = {
  apiVersion: 'policy.gatehouse.dev/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name: 'guard', namespace: 'shop' },
  spec: {
    targetRefs: [{ group: GROUP, kind: 'HTTPRoute', name: 'to-web' }],
    backend: {
      ai: {
        promptGuard: {
          request: [{ webhook: { backendRef: { kind: 'Service', name: 'guard', port: 443 } } }],
        },
      },
    },
  },
}

test('authorities of a BackendTLSPolicy are read only where a Gateway or policy of this controller uses its backend', () => {
  const foreign = {
    ...shop,
    metadata: { name: 'foreign', namespace: 'shop' },
    spec: { ...shop.spec, gatewayClassName: 'other' },
  }
  const policies = [
    tlsPolicy('web', 'of-route'),
    tlsPolicy('guard', 'of-webhook'),
    tlsPolicy('foreign', 'of-another-gateway'),
    tlsPolicy('nobody', 'of-no-route'),
    tlsPolicy('idp', 'of-backend', 'policy.gatehouse.dev', 'ProxyBackend'),
    tlsPolicy('mesh', 'of-another-kind', 'mesh.example', 'Backend'),
  ]
  const routes = [routeOn('gw', 'web'), routeOn('foreign', 'foreign')]
  expect(readWith(foreign, ...routes, webhookPolicy, ...policies)).toEqual([
    'ConfigMap/shop/of-backend',
    'ConfigMap/shop/of-route',
    'ConfigMap/shop/of-webhook',
  ])
})

test('authorities of clients are read for the Gateways of this controller, in other namespaces with a grant', () => {
  const configMap = (name: string, namespace?: string): object => ({
    group: '',
    kind: 'ConfigMap',
    name,
    ...(namespace === undefined ? {} : { namespace }),
  })
  const withClients = (name: string, gatewayClassName: string): PlainMap => ({
    ...shop,
    metadata: { name, namespace: 'shop' },
    spec: {
      gatewayClassName,
      listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
      tls: {
        frontend: {
          default: {
            validation: {
              caCertificateRefs: [configMap(name), configMap('granted', 'bank')],
            },
          },
          perPort: [
            {
              port: 443,
              tls: { validation: { caCertificateRefs: [configMap('secret', 'bank')] } },
            },
          ],
        },
      },
    },
  })
  const granted = grant({ kind: 'ConfigMap', name: 'granted' })
  const resources = resourcesOf(
    withClients('own', 'gatehouse'),
    withClients('foreign', 'other'),
    granted,
  )
  expect(atOnce(findReferences(resources)).objects.map(referenceKey)).toEqual([
    'ConfigMap/bank/granted',
    'ConfigMap/shop/own',
  ])
})

test('thousands of references to namespaces with many grants are looked at one by one', () => {
  const GRANTS = 100
  const grants = Array.from({ length: GRANTS }, (_, index) => grantFrom(`other-${String(index)}`))
  const { referenceGrants, ...rest } = resourcesOf(many(60, 30), ...grants)
  let looks = 0
  const counted = referenceGrants.map(({ metadata, ...grant }) => ({
    ...grant,
    get metadata() {
      looks += 1
      return metadata
    },
  }))
  const work = findReferences({ ...rest, referenceGrants: counted })
  let longest = 0
  let step = work.next()
  for (; step.done !== true; step = work.next()) {
    longest = Math.max(longest, looks)
    looks = 0
  }
  expect(longest).toBe(GRANTS)
  expect(step.value).toEqual({ objects: [], gatewaysBeyond: [] })
})

const many = (listeners: number, each: number) => ({
  ...shop,
  spec: {
    ...shop.spec,
    listeners: Array.from({ length: listeners }, (_, index) => ({
      ...shop.spec.listeners[0],
      name: `https-${String(index)}`,
      hostname: `host-${String(index)}.example`,
      tls: {
        certificateRefs: Array.from({ length: each }, (_, i) =>
          secret(`${String(index)}-${String(i)}`),
        ),
      },
    })),
  },
})

const grantFrom = (namespace: string) => ({
  apiVersion: `${GROUP}/v1beta1`,
  kind: 'ReferenceGrant',
  metadata: { name: namespace, namespace: 'bank' },
  spec: {
    from: [{ group: GROUP, kind: 'Gateway', namespace }],
    to: [{ group: '', kind: 'Secret' }],
  },
})

test('policies with relays are looked at in steps, and not again while they stay', () => {
  const policies = Array.from({ length: 3_000 }, (_, index) => ({
    apiVersion: 'policy.gatehouse.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: `policy-${String(index)}`, namespace: 'shop' },
    spec: {
      targetRefs: [{ group: GROUP, kind: 'HTTPRoute', name: 'route' }],
      traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ['true'] } } },
    },
  }))
  const resources = resourcesOf(...policies)
  const find = createFindReferences(CONTROLLER)
  const steps = (): number => {
    const work = find(resources)
    for (let step = 0; ; step += 1) if (work.next().done === true) return step
  }
  expect(steps()).toBeGreaterThan(3_000)
  expect(steps()).toBeLessThan(10)
})
