// Anybody may write many objects in a namespace of their own: what is read of them grows with their number, not with its
// square. Reads are counted.

import { describe, expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import type { Resource } from '../../../src/control/schema/kinds/resources.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import { decoded } from '../../support/decoded.js'
import { API_GROUP, type Document, httpRoute } from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const GATEWAY_API = 'gateway.networking.k8s.io'

/** Reads since the test began, by kind. */
const reads = new Map<string, number>()

/** Replaces a member of an object by one whose reads are counted. */
function count(kind: string, object: object, member: string): void {
  const value: unknown = Object.getOwnPropertyDescriptor(object, member)?.value
  const get = (): unknown => {
    reads.set(kind, (reads.get(kind) ?? 0) + 1)
    return value
  }
  Object.defineProperty(object, member, { enumerable: true, get })
}

type Watched = (resource: Resource<unknown>) => readonly (readonly [object, string])[]

/** Translates the documents. watched: the members whose reads are counted, by kind. */
function translate(
  documents: readonly Document[],
  watched: Readonly<Record<string, Watched>>,
): Translation {
  reads.clear()
  const all = documents.flatMap(decoded)
  for (const { resource } of all)
    for (const [object, member] of watched[resource.kind]?.(resource) ?? [])
      count(resource.kind, object, member)
  const { resources } = collectResources(all)
  return createTranslator(OPTIONS).translate(resources, new Map())
}

const each = (count: number): readonly number[] => [...Array(count).keys()]

const gateway = (name: string, listeners: readonly object[], more: object = {}): Document => ({
  apiVersion: `${GATEWAY_API}/v1`,
  kind: 'Gateway',
  metadata: { name },
  spec: { gatewayClassName: 'gatehouse', listeners, ...more },
})

const listener = (name: string, port: number, hostname?: string): object => ({
  name,
  port,
  protocol: 'HTTP',
  ...(hostname === undefined ? {} : { hostname }),
})

const onListeners =
  (member: string): Watched =>
  ({ spec }) =>
    (spec as { readonly listeners: readonly object[] }).listeners.map((one) => [one, member])

const onSpec =
  (member: string): Watched =>
  ({ spec }) => [[spec as object, member]]

test('ports of Gateways', () => {
  const documents = each(60).map((index) =>
    gateway(
      `gw-${index}`,
      each(20).map((at) => listener(`l-${at}`, 1 + index * 20 + at)),
    ),
  )
  translate(documents, { Gateway: onListeners('port') })
  // Each listener is compared with the others of its Gateway.
  expect(reads.get('Gateway')).toBeLessThan(60 * 20 * 20 * 8)
})

test('host names of listeners, for routes', () => {
  const documents = [
    gateway(
      'gw',
      each(40).map((at) => listener(`l-${at}`, 80, `h${at}.example`)),
    ),
    ...each(100).map((index) =>
      httpRoute(`r-${index}`, {
        parentRefs: [{ name: 'gw' }],
        hostnames: ['h1.example'],
        rules: [{}],
      }),
    ),
  ]
  translate(documents, { Gateway: onListeners('hostname') })
  // Per route: each listener once or twice. Beside that, each is compared with the others.
  expect(reads.get('Gateway')).toBeLessThan(100 * 40 * 4 + 40 * 40 * 8)
})

describe('ListenerSets', () => {
  const sets = each(100).map((index): Document => ({
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'ListenerSet',
    metadata: { name: `set-${String(index).padStart(3, '0')}` },
    spec: {
      parentRef: { name: 'gw' },
      listeners: each(20).map((at) => listener(`l-${at}`, 1000 + index * 20 + at)),
    },
  }))
  const parent = gateway('gw', [listener('own', 80)], {
    allowedListeners: { namespaces: { from: 'Same' } },
  })

  test('are not compared with each other', () => {
    translate([parent, ...sets], { ListenerSet: (resource) => [[resource, 'metadata']] })
    expect(reads.get('ListenerSet')).toBeLessThan(100 * 20 * 20)
  })

  test('beyond the limit have a status that says so', () => {
    const { statuses } = translate([parent, ...sets], {})
    const last = statuses.find(({ name }) => name === 'set-099')
    expect(last?.conditions).toContainEqual(
      expect.objectContaining({ section: 'l-0', reason: 'TooManyListeners' }),
    )
    expect(last?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Accepted', status: 'False', reason: 'ListenersNotValid' }),
    )
  })
})

test('ReferenceGrants', () => {
  const documents = [
    gateway('gw', [listener('own', 80)]),
    ...each(100).map((index): Document => ({
      apiVersion: `${GATEWAY_API}/v1beta1`,
      kind: 'ReferenceGrant',
      metadata: { name: `grant-${index}`, namespace: 'other' },
      spec: {
        from: [{ group: GATEWAY_API, kind: 'HTTPRoute', namespace: 'nobody' }],
        to: [{ group: '', kind: 'Service' }],
      },
    })),
    ...each(20).map((index) =>
      httpRoute(`r-${index}`, {
        parentRefs: [{ name: 'gw' }],
        rules: [
          {
            backendRefs: each(10).map((at) => ({
              name: `s-${index}-${at}`,
              namespace: 'other',
              port: 80,
            })),
          },
        ],
      }),
    ),
  ]
  translate(documents, { ReferenceGrant: onSpec('from') })
  expect(reads.get('ReferenceGrant')).toBeLessThan(100 * 4)
})

test('BackendTLSPolicies of one Service, each for a port', () => {
  const ports = each(100).map((index) => ({ name: `p-${index}`, port: 1 + index }))
  const tlsPolicy = (name: string, sectionName: string): Document => ({
    apiVersion: `${GATEWAY_API}/v1`,
    kind: 'BackendTLSPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 'one', sectionName }],
      validation: { hostname: 'a.example', wellKnownCACertificates: 'System' },
    },
  })
  const documents = [
    gateway('gw', [listener('own', 80)]),
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'one' }, spec: { ports } },
    ...ports.map(({ name }) => tlsPolicy(`tls-${name}`, name)),
    tlsPolicy('younger', 'p-7'),
  ]
  const { statuses } = translate(documents, { BackendTLSPolicy: onSpec('targetRefs') })
  expect(reads.get('BackendTLSPolicy')).toBeLessThan(100 * 12)
  const younger = statuses.find(({ name }) => name === 'younger')
  expect(younger?.conditions[0]?.message).toContain('tls-p-7')
})

test('routes that inherit policies are looked at one in each step', () => {
  const documents = [
    gateway('gw', [listener('own', 80)]),
    ...each(40).map((index) => httpRoute(`r-${index}`, { rules: [{}] })),
    {
      apiVersion: `${API_GROUP}/v1alpha1`,
      kind: 'ProxyPolicy',
      metadata: { name: 'defaults' },
      spec: {
        targetRefs: [{ group: GATEWAY_API, kind: 'Gateway', name: 'gw' }],
        traffic: { authorization: { policy: { matchExpressions: ['true'] } } },
      },
    },
  ]
  const touched = new Set<string>()
  const all = documents.flatMap(decoded)
  for (const { resource } of all) {
    const { kind, metadata, spec } = resource
    const get = (): unknown => {
      touched.add(metadata.name)
      return spec
    }
    if (kind === 'HTTPRoute') Object.defineProperty(resource, 'spec', { enumerable: true, get })
  }
  const { resources } = collectResources(all)
  touched.clear()
  let most = 0
  const work = createTranslator(OPTIONS).translationWork(resources, new Map())
  while (work.next().done !== true) {
    most = Math.max(most, touched.size)
    touched.clear()
  }
  expect(most).toBeLessThan(4)
})
