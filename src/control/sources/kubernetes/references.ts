// Finds the Secrets and ConfigMaps that other resources refer to; no others are read.

import { memo } from '../../../kit/incremental/memo.js'
import { mapEach, mapWork, type Work } from '../../../kit/turns.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { CertificateRef } from '../../schema/kinds/gateway-tls.js'
import type { HttpRouteSpec } from '../../schema/kinds/http-route.js'
import type { ReferenceGrantSpec } from '../../schema/kinds/reference-grant.js'
import type { Resource, Resources } from '../../schema/kinds/resources.js'

/** A referenced Secret or ConfigMap. */
export interface ObjectReference {
  readonly kind: 'Secret' | 'ConfigMap'
  readonly namespace: string
  readonly name: string
}

/** What the resources of a cluster refer to. */
export interface References {
  /** Sorted and unique. */
  readonly objects: readonly ObjectReference[]
  /** Gateways that refer to more Secrets than are read. */
  readonly gatewaysBeyond: readonly ResourceName[]
}

/**
 * Finds the references, in short steps: a Gateway may have thousands. A Secret of another namespace needs a
 * ReferenceGrant there. Objects that only Gateways or BackendTLSPolicies of other controllers name are left out.
 */
export type FindReferences = (resources: Resources) => Work<References>

/** Creates the search, which remembers what it found in each route and policy. */
export function createFindReferences(controllerName: string): FindReferences {
  const usedServices = createUsedServices()
  const relays = createRelaySecrets()
  return (resources) => findReferences(resources, controllerName, usedServices, relays)
}

function* findReferences(
  resources: Resources,
  controllerName: string,
  usedServices: UsedServices,
  relays: RelaySecrets,
): Work<References> {
  const own = ownGateways(resources, controllerName)
  const certificates = yield* mapWork(own, (gateway) => certificatesOf(resources, gateway))
  const found = [
    ...certificates.flatMap(({ secrets }) => secrets.slice(0, MOST_SECRETS)),
    ...(yield* certificatesOfSets(resources, own)),
    ...(yield* authorities(resources, own, controllerName, usedServices)),
    ...(yield* mapWork(own, (gateway) => clientAuthorities(resources, gateway))).flat(),
    ...(yield* relays(resources.proxyPolicies)),
  ]
  yield
  const byKey = new Map(found.map((each) => [referenceKey(each), each]))
  return {
    objects: [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each),
    gatewaysBeyond: certificates.flatMap(({ gateway, secrets }) =>
      secrets.length > MOST_SECRETS ? [gateway] : [],
    ),
  }
}

/** Maximum number of Secrets read per Gateway: one for each of its up to 64 listeners. Each Secret is a watch. */
export const MOST_SECRETS = 64

/** Returns KIND/NAMESPACE/NAME. */
export const referenceKey = ({ kind, namespace, name }: ObjectReference): string =>
  `${kind}/${namespace}/${name}`

interface ResourceName {
  readonly namespace: string
  readonly name: string
}

interface GatewaySecrets {
  readonly gateway: ResourceName
  /** The unique Secrets: that for its backends, then those of the listeners in their order. */
  readonly secrets: readonly ObjectReference[]
}

/** Returns the Gateways whose class names this controller. */
function ownGateways(
  { gatewayClasses, gateways }: Resources,
  controllerName: string,
): Resources['gateways'] {
  const own = new Set(
    gatewayClasses
      .filter(({ spec }) => spec.controllerName === controllerName)
      .map(({ metadata }) => metadata.name),
  )
  return gateways.filter(({ spec }) => own.has(spec.gatewayClassName))
}

function* certificatesOf(
  resources: Resources,
  { metadata: { namespace, name }, spec }: Resources['gateways'][number],
): Work<GatewaySecrets> {
  const secrets = yield* permittedSecrets(resources, { kind: 'Gateway', namespace }, [
    ...[spec.tls?.backend?.clientCertificateRef].flatMap((ref) => ref ?? []),
    ...spec.listeners.flatMap(({ tls }) => tls?.certificateRefs ?? []),
  ])
  return { gateway: { namespace, name }, secrets }
}

/** Returns the Secrets of the ListenerSets whose Gateway allows any of their namespace, or selects namespaces. */
function* certificatesOfSets(
  resources: Resources,
  own: Resources['gateways'],
): Work<readonly ObjectReference[]> {
  if (resources.listenerSets.length === 0) return []
  const gateways = new Map(
    own.map((gateway) => [`${gateway.metadata.namespace}/${gateway.metadata.name}`, gateway]),
  )
  const found: ObjectReference[] = []
  for (const { metadata, spec } of resources.listenerSets) {
    yield
    const { namespace } = metadata
    const { parentRef, listeners } = spec
    const gateway = gateways.get(`${parentRef.namespace ?? namespace}/${parentRef.name}`)
    const from = gateway?.spec.allowedListeners?.namespaces.from ?? 'None'
    if (from === 'None' || (from === 'Same' && gateway?.metadata.namespace !== namespace)) continue
    const refs = listeners.flatMap(({ tls }) => tls?.certificateRefs ?? [])
    const secrets = yield* permittedSecrets(resources, { kind: 'ListenerSet', namespace }, refs)
    found.push(...secrets.slice(0, MOST_SECRETS))
  }
  return found
}

interface SecretUser {
  readonly kind: 'Gateway' | 'ListenerSet'
  readonly namespace: string
}

/** Returns the unique Secrets that the resource may refer to. */
function* permittedSecrets(
  { referenceGrants }: Resources,
  from: SecretUser,
  refs: readonly CertificateRef[],
): Work<readonly ObjectReference[]> {
  const named = refs
    .filter(({ group, kind }) => group === '' && kind === 'Secret')
    .map(({ name, namespace = from.namespace }) => ({ kind: 'Secret' as const, namespace, name }))
  const unique = [...new Map(named.map((secret) => [referenceKey(secret), secret])).values()]
  const permitted: ObjectReference[] = []
  for (const secret of unique) {
    yield
    if (
      secret.namespace === from.namespace ||
      referenceGrants.some((grant) => grants(grant, from, secret))
    )
      permitted.push(secret)
  }
  return permitted
}

const grants = (
  { metadata, spec }: Resource<ReferenceGrantSpec>,
  from: SecretUser,
  to: ObjectReference,
): boolean =>
  metadata.namespace === to.namespace &&
  spec.from.some(
    ({ group, kind, namespace }) =>
      group === GATEWAY_API_GROUP && kind === from.kind && namespace === from.namespace,
  ) &&
  spec.to.some(
    ({ group, kind, name }) =>
      group === '' && kind === to.kind && (name === undefined || name === to.name),
  )

/** Returns the ConfigMaps with the authorities of clients (Gateway tls.frontend). */
function* clientAuthorities(
  { referenceGrants }: Resources,
  { metadata, spec }: Resources['gateways'][number],
): Work<readonly ObjectReference[]> {
  const from = { kind: 'Gateway', namespace: metadata.namespace } as const
  const { default: ofAll, perPort = [] } = spec.tls?.frontend ?? {}
  const refs = [ofAll, ...perPort.map(({ tls }) => tls)]
    .flatMap((tls) => tls?.validation?.caCertificateRefs ?? [])
    .filter(({ group, kind }) => group === '' && kind === 'ConfigMap')
  const found: ObjectReference[] = []
  for (const { name, namespace = from.namespace } of refs) {
    yield
    const map = { kind: 'ConfigMap' as const, namespace, name }
    if (namespace === from.namespace || referenceGrants.some((grant) => grants(grant, from, map)))
      found.push(map)
    if (found.length === MOST_SECRETS) break
  }
  return found
}

/** Returns the Secrets of relays, in the namespaces of their policies. */
type RelaySecrets = (policies: Resources['proxyPolicies']) => Work<readonly ObjectReference[]>

/** Looks at no policies again that stay the same. */
function createRelaySecrets(): RelaySecrets {
  let past: Resources['proxyPolicies'] = []
  let secrets: readonly ObjectReference[] = []
  return function* (policies) {
    if (policies === past) return secrets
    secrets = (yield* mapEach(policies, relaySecretsOf)).flat()
    past = policies
    return secrets
  }
}

function relaySecretsOf({
  metadata,
  spec,
}: Resources['proxyPolicies'][number]): readonly ObjectReference[] {
  const { keyRef = [], clientSecretRef } = spec.traffic?.jwtAuthentication?.mcp?.relay ?? {}
  const refs = [...keyRef, ...(clientSecretRef === undefined ? [] : [clientSecretRef])]
  return refs.flatMap(({ name }) =>
    name === undefined ? [] : [{ kind: 'Secret', namespace: metadata.namespace, name } as const],
  )
}

function* authorities(
  resources: Resources,
  own: Resources['gateways'],
  controllerName: string,
  usedServices: UsedServices,
): Work<readonly ObjectReference[]> {
  const policies = resources.backendTlsPolicies.filter(
    ({ spec }) => spec.validation.caCertificateRefs.length > 0,
  )
  if (policies.length === 0) return []
  const gateways = own.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  const used = yield* usedServices(resources, new Set(gateways))
  return policies
    .filter(({ metadata, spec }) =>
      spec.targetRefs.some(({ group, kind, name }) =>
        group === ''
          ? kind === 'Service' && used.has(`${metadata.namespace}/${name}`)
          : `${group}/gatehouse` === controllerName,
      ),
    )
    .flatMap(({ metadata, spec }) =>
      spec.validation.caCertificateRefs.flatMap(({ group, kind, name }) =>
        group === '' && (kind === 'ConfigMap' || kind === 'Secret')
          ? [{ kind, namespace: metadata.namespace, name } as const]
          : [],
      ),
    )
}

// Finds the Services that Gatehouse's own Gateways and policies lead to. BackendTLSPolicies of other Services belong to
// other controllers.

/**
 * Returns NAMESPACE/NAME of the backends of routes on these Gateways (NAMESPACE/NAME) or on ListenerSets, and of all
 * policies.
 */
type UsedServices = (
  resources: Resources,
  gateways: ReadonlySet<string>,
) => Work<ReadonlySet<string>>

/** Creates a function that looks into each route and policy once. */
function createUsedServices(): UsedServices {
  const servicesOf = memo(servicesIn)
  return (resources, gateways) => usedServices(resources, gateways, servicesOf)
}

function* usedServices(
  { httpRoutes, proxyPolicies }: Resources,
  gateways: ReadonlySet<string>,
  servicesOf: typeof servicesIn,
): Work<ReadonlySet<string>> {
  const used = new Set<string>()
  for (const resource of [
    ...httpRoutes.filter((route) => isOnOne(route, gateways)),
    ...proxyPolicies,
  ]) {
    yield
    for (const service of servicesOf(resource)) used.add(service)
  }
  return used
}

const isOnOne = (
  { metadata, spec }: Resource<HttpRouteSpec>,
  gateways: ReadonlySet<string>,
): boolean =>
  spec.parentRefs.some(
    ({ group, kind, namespace = metadata.namespace, name }) =>
      group === GATEWAY_API_GROUP &&
      (kind === 'ListenerSet' || (kind === 'Gateway' && gateways.has(`${namespace}/${name}`))),
  )

const servicesIn = ({ metadata, spec }: Resource<unknown>): readonly string[] =>
  backendRefsIn(spec).flatMap(({ kind, name, namespace = metadata.namespace }) =>
    kind === 'Service' ? [`${String(namespace)}/${String(name)}`] : [],
  )

type Ref = Readonly<Record<string, unknown>>

/** Returns the values of all members named backendRef or backendRefs, at any depth. */
function backendRefsIn(value: unknown): readonly Ref[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, inner]: [string, unknown]) => [
    ...(member === 'backendRef' || member === 'backendRefs' ? ([inner].flat() as Ref[]) : []),
    ...backendRefsIn(inner),
  ])
}
