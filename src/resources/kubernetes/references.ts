// Finds the Secrets and ConfigMaps that other resources refer to; no others are read.

import { GATEWAY_API_GROUP } from '../kinds/fields.js'
import type { CertificateRef } from '../kinds/gateway-tls.js'
import type { ReferenceGrantSpec } from '../kinds/reference-grant.js'
import type { Resource, Resources } from '../kinds/resources.js'
import { usedServices } from './used-services.js'

/** A referenced Secret or ConfigMap. */
export interface ObjectReference {
  readonly kind: 'Secret' | 'ConfigMap'
  readonly namespace: string
  readonly name: string
}

/**
 * Returns the references, sorted and unique. A Secret of another namespace needs a ReferenceGrant there. Objects that
 * only Gateways or BackendTLSPolicies of other controllers name are left out.
 */
export function referencedObjects(
  resources: Resources,
  controllerName: string,
): readonly ObjectReference[] {
  const found = [
    ...certificates(resources, controllerName),
    ...certificatesOfSets(resources, controllerName),
    ...authorities(resources, controllerName),
    ...clientAuthorities(resources, controllerName),
    ...relaySecrets(resources),
  ]
  const byKey = new Map(found.map((each) => [referenceKey(each), each]))
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each)
}

/** Maximum number of Secrets read per Gateway: one for each of its up to 64 listeners. Each Secret is a watch. */
export const MOST_SECRETS = 64

/** Returns the Gateways that refer to more Secrets than are read. */
export const gatewaysBeyond = (
  resources: Resources,
  controllerName: string,
): readonly ResourceName[] =>
  certificatesByGateway(resources, controllerName)
    .filter(({ secrets }) => secrets.length > MOST_SECRETS)
    .map(({ gateway }) => gateway)

/** Returns KIND/NAMESPACE/NAME. */
export const referenceKey = ({ kind, namespace, name }: ObjectReference): string =>
  `${kind}/${namespace}/${name}`

const certificates = (resources: Resources, controllerName: string): readonly ObjectReference[] =>
  certificatesByGateway(resources, controllerName).flatMap(({ secrets }) =>
    secrets.slice(0, MOST_SECRETS),
  )

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

function certificatesByGateway(
  resources: Resources,
  controllerName: string,
): readonly GatewaySecrets[] {
  return ownGateways(resources, controllerName).map(({ metadata, spec }) => ({
    gateway: { namespace: metadata.namespace, name: metadata.name },
    secrets: permittedSecrets(resources, { kind: 'Gateway', namespace: metadata.namespace }, [
      ...[spec.tls?.backend?.clientCertificateRef].flatMap((ref) => ref ?? []),
      ...spec.listeners.flatMap(({ tls }) => tls?.certificateRefs ?? []),
    ]),
  }))
}

/** Returns the Secrets of the ListenerSets whose Gateway allows any of their namespace, or selects namespaces. */
function certificatesOfSets(
  resources: Resources,
  controllerName: string,
): readonly ObjectReference[] {
  if (resources.listenerSets.length === 0) return []
  const gateways = new Map(
    ownGateways(resources, controllerName).map((gateway) => [
      `${gateway.metadata.namespace}/${gateway.metadata.name}`,
      gateway,
    ]),
  )
  return resources.listenerSets.flatMap(({ metadata: { namespace }, spec }) => {
    const { parentRef, listeners } = spec
    const gateway = gateways.get(`${parentRef.namespace ?? namespace}/${parentRef.name}`)
    const from = gateway?.spec.allowedListeners?.namespaces.from ?? 'None'
    if (from === 'None' || (from === 'Same' && gateway?.metadata.namespace !== namespace)) return []
    const refs = listeners.flatMap(({ tls }) => tls?.certificateRefs ?? [])
    return permittedSecrets(resources, { kind: 'ListenerSet', namespace }, refs).slice(
      0,
      MOST_SECRETS,
    )
  })
}

interface SecretUser {
  readonly kind: 'Gateway' | 'ListenerSet'
  readonly namespace: string
}

/** Returns the unique Secrets that the resource may refer to. */
function permittedSecrets(
  { referenceGrants }: Resources,
  from: SecretUser,
  refs: readonly CertificateRef[],
): readonly ObjectReference[] {
  const named = refs
    .filter(({ group, kind }) => group === '' && kind === 'Secret')
    .map(({ name, namespace = from.namespace }) => ({ kind: 'Secret' as const, namespace, name }))
  const unique = [...new Map(named.map((secret) => [referenceKey(secret), secret])).values()]
  return unique.filter(
    (secret) =>
      secret.namespace === from.namespace ||
      referenceGrants.some((grant) => grants(grant, from, secret)),
  )
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
const clientAuthorities = (
  resources: Resources,
  controllerName: string,
): readonly ObjectReference[] =>
  ownGateways(resources, controllerName).flatMap(({ metadata, spec }) => {
    const { default: ofAll, perPort = [] } = spec.tls?.frontend ?? {}
    return [ofAll, ...perPort.map(({ tls }) => tls)]
      .flatMap((tls) => tls?.validation?.caCertificateRefs ?? [])
      .filter(({ group, kind }) => group === '' && kind === 'ConfigMap')
      .map(({ name, namespace = metadata.namespace }) => ({
        ...{ kind: 'ConfigMap' as const, namespace, name },
      }))
      .filter(
        (map) =>
          map.namespace === metadata.namespace ||
          resources.referenceGrants.some((grant) =>
            grants(grant, { kind: 'Gateway', namespace: metadata.namespace }, map),
          ),
      )
      .slice(0, MOST_SECRETS)
  })

/** Returns the Secrets of relays, in the namespace of the policy. */
const relaySecrets = ({ proxyPolicies }: Resources): readonly ObjectReference[] =>
  proxyPolicies.flatMap(({ metadata, spec }) => {
    const { keyRef = [], clientSecretRef } = spec.traffic?.jwtAuthentication?.mcp?.relay ?? {}
    const refs = [...keyRef, ...(clientSecretRef === undefined ? [] : [clientSecretRef])]
    return refs.flatMap(({ name }) =>
      name === undefined ? [] : [{ kind: 'Secret', namespace: metadata.namespace, name } as const],
    )
  })

function authorities(resources: Resources, controllerName: string): readonly ObjectReference[] {
  const policies = resources.backendTlsPolicies.filter(
    ({ spec }) => spec.validation.caCertificateRefs.length > 0,
  )
  if (policies.length === 0) return []
  const gateways = ownGateways(resources, controllerName).map(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
  )
  const used = usedServices(resources, new Set(gateways))
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
