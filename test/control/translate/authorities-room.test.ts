// The authorities of a namespace's backends have a limit together: thousands of small policies may name one large bundle.

import { expect, test } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import type { Resources } from '../../../src/control/schema/kinds/resources.js'
import { MANY_TLS_POLICIES } from '../../../src/control/translate/backends/backend-authorities.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import { buildWorld } from '../../../src/control/translate/world/build-world.js'
import { createQueryEngine } from '../../../src/control/translate/world/queries.js'
import { atOnce } from '../../../src/kit/turns.js'
import { selfSigned } from '../../support/certificates.js'
import { decoded } from '../../support/decoded.js'
import {
  API_GROUP,
  backendRef,
  type Document,
  gateway,
  httpRoute,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const MEBIBYTE = 1024 * 1024
const { cert } = selfSigned('a.example')

const bundle = (characters: number, namespace = 'default'): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'bundle', namespace },
  data: { 'ca.crt': cert.repeat(Math.floor(characters / cert.length)) },
})

const LARGE = bundle(MEBIBYTE)

/** A policy for a ProxyBackend, or for a Service. number: the order of creation; bundles: the ConfigMaps that it names. */
const policy = (
  number: number,
  kind = 'ProxyBackend',
  namespace = 'default',
  bundles = ['bundle'],
): Document => ({
  apiVersion: GATEWAY_API,
  kind: 'BackendTLSPolicy',
  metadata: {
    name: `tls-${number}`,
    namespace,
    creationTimestamp: new Date(1_700_000_000_000 + number * 1000).toISOString(),
  },
  spec: {
    targetRefs: [{ group: kind === 'Service' ? '' : API_GROUP, kind, name: `b-${number}` }],
    validation: {
      hostname: 'a.example',
      caCertificateRefs: bundles.map((name) => ({ group: '', kind: 'ConfigMap', name })),
    },
  },
})

/** A policy that trusts the system's authorities. */
function ofSystem(number: number): Document {
  const { spec, ...rest } = policy(number)
  const validation = { hostname: 'a.example', wellKnownCACertificates: 'System' }
  return { ...rest, spec: { ...spec, validation } }
}

const backend = (number: number, namespace = 'default'): Document => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyBackend',
  metadata: { name: `b-${number}`, namespace },
  spec: { static: { host: 'backend.example', port: 443 } },
})

const guarded = (count: number, namespace = 'default'): readonly Document[] =>
  [...Array(count).keys()].flatMap((at) => [
    backend(at, namespace),
    policy(at, 'ProxyBackend', namespace),
  ])

const resourcesOf = (documents: readonly object[]): Resources =>
  collectResources(documents.flatMap(decoded)).resources

const translate = (documents: readonly object[]): Translation =>
  createTranslator(OPTIONS).translate(resourcesOf(documents), new Map())

/** The names of the policies that are refused, with their messages. */
const refused = ({ statuses }: Translation): ReadonlyMap<string, string> =>
  new Map(
    statuses
      .filter(({ kind }) => kind === 'BackendTLSPolicy')
      .flatMap(({ namespace, name, conditions }) =>
        conditions
          .filter(({ reason }) => reason === 'NoValidCACertificate')
          .map(({ message }) => [`${namespace}/${name}`, message]),
      ),
  )

test('the oldest policies have room, and those beyond it say why they have none', () => {
  const found = refused(translate([LARGE, ...guarded(40)]))
  expect([...found.keys()].sort()).toEqual(
    [32, 33, 34, 35, 36, 37, 38, 39].map((at) => `default/tls-${at}`),
  )
  expect(found.get('default/tls-39')).toBe(
    'caCertificateRefs: the authorities of the BackendTLSPolicies of namespace default, each counted for every port of its targets, have more than 33554432 characters together; older policies have precedence',
  )
})

test('the authorities of the system count too, as each cluster of Envoy has its own copy', () => {
  const all = [...Array(258).keys()].flatMap((at) => [backend(at), ofSystem(at)])
  const found = refused(translate(all))
  expect([...found.keys()].sort()).toEqual(['default/tls-256', 'default/tls-257'])
  expect(found.get('default/tls-257')).toBe(
    'wellKnownCACertificates: the authorities of the BackendTLSPolicies of namespace default, each counted for every port of its targets, have more than 33554432 characters together; older policies have precedence',
  )
})

test('a backend without room answers 503, and is never sent plain text', () => {
  const route = httpRoute('r', { rules: [{ backendRefs: [backendRef('b-39')] }] })
  const { ir, statuses } = translate([LARGE, gateway([8080]), route, ...guarded(40)])
  expect(ir.destinations).toEqual([])
  const conditions = statuses.find(({ kind }) => kind === 'HTTPRoute')?.conditions ?? []
  expect(conditions).toContainEqual(
    expect.objectContaining({ type: 'ResolvedRefs', status: 'False', reason: 'InvalidBackendTls' }),
  )
})

test('a policy for a Service counts for each of its ports', () => {
  const service: Document = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'b-0' },
    spec: {
      ports: [...Array(33).keys()].map((at) => ({ name: `p${at}`, port: 1 + at })),
    },
  }
  const documents = [LARGE, service, policy(0, 'Service'), backend(1), policy(1)]
  expect([...refused(translate(documents)).keys()]).toEqual(['default/tls-0'])
})

test('each namespace has a limit of its own, and small bundles have none', () => {
  const others = [bundle(16 * 1024, 'small'), ...guarded(2_200, 'small')]
  const found = refused(translate([LARGE, ...guarded(33), ...others]))
  expect([...found.keys()]).toEqual(['default/tls-32'])
})

test('what is too long for one policy takes no room', () => {
  const tooLong = [...Array(20).keys()].flatMap((at) => [
    backend(at),
    policy(at, 'ProxyBackend', 'default', ['bundle', 'bundle']),
  ])
  const found = refused(translate([LARGE, ...tooLong, backend(20), policy(20)]))
  expect(found.size).toBe(20)
  expect(found.has('default/tls-20')).toBe(false)
})

test('what is removed makes room', () => {
  const translator = createTranslator(OPTIONS)
  const all = resourcesOf([LARGE, ...guarded(34)])
  expect(refused(translator.translate(all, new Map())).size).toBe(2)
  const [, ...backendTlsPolicies] = all.backendTlsPolicies
  const fewer = { ...all, backendTlsPolicies }
  expect(refused(translator.translate(fewer, new Map())).size).toBe(1)
})

test('the room of many policies is found in slices', () => {
  const { world, changed } = atOnce(
    buildWorld(resourcesOf([LARGE, ...guarded(200)]), {
      remote: new Map(),
      names: new Map(),
      relayKeys: new Map(),
      routesBeyond: new Map(),
      servicesBeyond: new Map(),
    }),
  )
  const context = { reader: atOnce(createQueryEngine().begin(world, changed)), options: OPTIONS }
  expect(MANY_TLS_POLICIES.isLong(context, 'default')).toBe(true)
  let turns = 0
  for (const work = MANY_TLS_POLICIES.ask(context, 'default'); work.next().done !== true;)
    turns += 1
  expect(turns).toBeGreaterThanOrEqual(200)
})
