// Incremental translation: objects that a change does not affect stay identical, and many listeners stay cheap.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import type { Resources } from '../../../src/control/schema/kinds/resources.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import { goldenCases } from '../../support/golden.js'
import { caseDocuments, OPTIONS } from '../../support/translate-case.js'

const GOLDENS = join(import.meta.dirname, '../../golden/translate')

const GATEWAY_API = 'gateway.networking.k8s.io'

const toResources = (documents: Iterable<DecodedResource>): Resources =>
  collectResources([...documents]).resources

test('64 HTTPS listeners on a port make a few virtual hosts each, not one for each other', () => {
  const listeners = Array.from({ length: 64 }, (_, at) => ({
    name: `l${at}`,
    hostname: `h${at}.example`,
    port: 8443,
    protocol: 'HTTPS',
    tls: { certificateRefs: [{ name: 'cert' }] },
  }))
  const golden = goldenCases(GOLDENS).find(
    ({ name }) => name === 'https-listeners-each-have-a-chain',
  )
  const documents = caseDocuments(golden?.input ?? '')
  const others = documents.filter(({ collection }) => collection !== 'gateways')
  const gateways = caseDocuments(
    JSON.stringify({
      apiVersion: `${GATEWAY_API}/v1`,
      kind: 'Gateway',
      metadata: { name: 'gw' },
      spec: { gatewayClassName: 'gatehouse', listeners },
    }),
  ).filter(({ collection }) => collection === 'gateways')
  const { ir } = createTranslator(OPTIONS).translate(
    toResources([...others, ...gateways]),
    new Map(),
  )
  const chains = ir.gateways.flatMap((one) => one.listeners).flatMap((one) => one.chains)
  expect(chains).toHaveLength(64)
  expect(chains.flatMap(({ virtualHosts }) => virtualHosts).length).toBeLessThanOrEqual(128)
})

test('conditions say which generation of their resource they are about', () => {
  const golden = goldenCases(GOLDENS).find(({ name }) => name === 'idp-one-protects-an-mcp-route')
  const resources = toResources(caseDocuments(golden?.input ?? ''))
  const { statuses } = createTranslator(OPTIONS).translate(resources, new Map())
  const policy = statuses.find(({ kind }) => kind === 'ProxyPolicy')
  expect(policy?.conditions.map((condition) => condition.observedGeneration)).toEqual([3, 3])
})

describe('what a change does not concern', () => {
  const document = (name: string): readonly DecodedResource[] => {
    const golden = goldenCases(GOLDENS).find((one) => one.name === name)
    return golden === undefined ? [] : caseDocuments(golden.input)
  }
  const named = (name: string, documents: readonly DecodedResource[]): readonly DecodedResource[] =>
    documents
      .filter(({ resource }) => ['HTTPRoute', 'ProxyPolicy'].includes(resource.kind))
      .map((original) => renamed(original, name))
  const renamed = (original: DecodedResource, name: string): DecodedResource => {
    const copy = structuredClone(original)
    const spec = copy.resource.spec as { targetRefs?: { name: string }[] }
    spec.targetRefs = spec.targetRefs?.map((ref) => ({ ...ref, name }))
    return {
      ...copy,
      resource: { ...copy.resource, metadata: { ...copy.resource.metadata, name } },
    }
  }
  const base = document('idp-one-protects-an-mcp-route')
  const many = ['a', 'b', 'c'].flatMap((name) => named(name, base))

  /** change: what is done to the spec of a copy of the policy of b. */
  const changed = (change: (spec: { traffic?: object }) => void) =>
    many.map((one) => {
      if (one.resource.metadata.name !== 'b' || one.resource.kind !== 'ProxyPolicy') return one
      const copy = structuredClone(one)
      change(copy.resource.spec as object)
      return copy
    })

  test('is the same object as before', () => {
    const translator = createTranslator(OPTIONS)
    const before = translator.translate(toResources([...base, ...many]), new Map())
    const denied = changed((spec) => {
      const authorization = { action: 'Deny', policy: { matchExpressions: ['true'] } }
      spec.traffic = { ...spec.traffic, authorization }
    })
    const after = translator.translate(toResources([...base, ...denied]), new Map())
    expect(before.ir.authz.map(({ key }) => key)).toEqual([
      'default/a/0',
      'default/b/0',
      'default/c/0',
      'default/mcp/0',
    ])
    const same = after.ir.authz.map((entry, index) => entry === before.ir.authz[index])
    expect(same).toEqual([true, false, true, true])
    expect(after.ir.destinations[0]).toBe(before.ir.destinations[0])
    const statusOf = ({ statuses }: typeof before, name: string) =>
      statuses.find((status) => status.kind === 'ProxyPolicy' && status.name === name)
    expect(statusOf(after, 'a')).toBe(statusOf(before, 'a'))
    // A rule stands in the table, not in what Envoy gets.
    expect(after.ir.gateways).toBe(before.ir.gateways)
  })

  test('is everything when a policy is another object that says the same', () => {
    const translator = createTranslator(OPTIONS)
    const before = translator.translate(toResources([...base, ...many]), new Map())
    const same = changed(() => undefined)
    const after = translator.translate(toResources([...base, ...same]), new Map())
    expect(after.ir.authz).toBe(before.ir.authz)
    expect(after.ir.gateways).toBe(before.ir.gateways)
  })

  test('is the whole translation when nothing changed', () => {
    const translator = createTranslator(OPTIONS)
    const [before, after] = [1, 2].map(() => translator.translate(toResources(base), new Map()))
    expect(after?.ir.gateways[0]).toBe(before?.ir.gateways[0])
  })

  test('stays when another Gateway takes a route', () => {
    const translator = createTranslator(OPTIONS)
    const gateway = base.find(({ resource }) => resource.kind === 'Gateway')
    if (gateway === undefined) throw new Error('the defaults have no Gateway')
    const before = translator.translate(toResources(base), new Map())
    const after = translator.translate(toResources([...base, renamed(gateway, 'zz')]), new Map())
    expect(after.ir.gateways.map(({ name }) => name)).toEqual(['gw', 'zz'])
    expect(after.ir.gateways[0]).toBe(before.ir.gateways[0])
  })
})

test('a label of a namespace concerns the routes of it that a selector asks about, and no others', () => {
  const golden = goldenCases(GOLDENS).find(
    ({ name }) => name === 'a-selector-of-namespaces-lets-in-those-with-the-labels',
  )
  const documents = caseDocuments(golden?.input ?? '')
  const changed = (kind: string, name: string, change: object): readonly DecodedResource[] =>
    documents
      .filter(({ resource }) => resource.kind === kind && resource.metadata.name === name)
      .map((one) => ({ ...one, resource: { ...one.resource, ...change } }))
  const open = { namespace: 'default', name: 'open' }
  const unasked = [
    ...changed('Gateway', 'gw', {
      metadata: { ...open, labels: {} },
      spec: {
        gatewayClassName: 'gatehouse',
        addresses: [],
        listeners: [
          {
            name: 'http',
            port: 9000,
            protocol: 'HTTP',
            allowedRoutes: { namespaces: { from: 'All' }, kinds: [] },
          },
        ],
      },
    }),
    ...changed('HTTPRoute', 'without-labels', {
      metadata: { namespace: 'bare', name: 'unasked', labels: {} },
      spec: {
        parentRefs: [{ group: GATEWAY_API, kind: 'Gateway', ...open }],
        hostnames: [],
        rules: [],
      },
    }),
  ]
  const relabelled = changed('Namespace', 'bare', {
    metadata: { namespace: '', name: 'bare', labels: { team: 'a' } },
  })
  const translator = createTranslator(OPTIONS)
  const before = translator.translate(toResources([...documents, ...unasked]), new Map())
  const after = translator.translate(
    toResources([...relabelled, ...documents, ...unasked]),
    new Map(),
  )
  const again = after.statuses.filter((status, index) => status !== before.statuses[index])
  expect(again.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`)).toEqual([
    'HTTPRoute bare/without-labels',
    'Namespace /bare',
  ])
  expect(after.ir.gateways.map((gateway, index) => gateway === before.ir.gateways[index])).toEqual([
    false,
    true,
  ])
})

test('a key set stays the same document when the endpoints of its Service change', () => {
  const golden = goldenCases(GOLDENS).find(({ name }) => name === 'keys-from-a-service')
  const documents = caseDocuments(golden?.input ?? '')
  const slice = (ip: string): DecodedResource => ({
    collection: 'endpointSlices',
    position: 'test',
    resource: {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        namespace: 'default',
        name: 'shop',
        labels: { 'kubernetes.io/service-name': 'shop' },
      },
      spec: {
        addressType: 'IPv4',
        endpoints: [{ addresses: [ip], conditions: { ready: true } }],
        ports: [{ name: '', port: 8080, protocol: 'TCP' }],
      },
      source: 'test',
      unsupported: [],
    },
  })
  const translator = createTranslator(OPTIONS)
  const [one, other] = ['10.0.0.1', '10.0.0.2'].map(
    (ip) => translator.translate(toResources([...documents, slice(ip)]), new Map()).wanted[0],
  )
  expect(other?.id).toBe(one?.id)
  expect(other?.targets).not.toEqual(one?.targets)
})
