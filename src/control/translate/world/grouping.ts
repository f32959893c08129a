// Index keys (policies by target, slices by Service, grants by namespace) and the order within each group.

import { compareText } from '../../../kit/incremental/sorted-list.js'
import { type EndpointSliceData, SERVICE_NAME_LABEL } from '../../schema/kinds/endpoint-slice.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { ListenerSetSpec } from '../../schema/kinds/listener-set.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { keyIn, keyOf, targetKey } from './world.js'

/** Orders by creationTimestamp, then namespace and name: the oldest wins a conflict (decision 25). */
export function olderFirst(a: Resource<unknown>, b: Resource<unknown>): number {
  const age = (resource: Resource<unknown>) => resource.metadata.creationTimestamp ?? 0
  return age(a) - age(b) || compareText(keyOf(a), keyOf(b))
}

/** Compares resources by namespace and name. */
export const byName = (a: Resource<unknown>, b: Resource<unknown>): number =>
  compareText(keyOf(a), keyOf(b))

interface Targeting {
  readonly targetRefs: readonly {
    readonly group: string
    readonly kind: string
    readonly name: string
  }[]
}

/** Returns targetKey() of each target of a policy. */
export const targetKeys = ({ metadata, spec }: Resource<Targeting>): readonly string[] => [
  ...new Set(
    spec.targetRefs.map(({ group, kind, name }) =>
      targetKey(group, kind, metadata.namespace, name),
    ),
  ),
]

/**
 * Returns the keys of the policy's targets. A target of an unknown group or kind is probably a misspelt HTTPRoute,
 * Gateway or ListenerSet, so the (broken) policy also counts for those of that name: they must not be open (decision 25f).
 */
export function policyTargetKeys(policy: Resource<ProxyPolicySpec>): readonly string[] {
  const { targetRefs, traffic, backend } = policy.spec
  const isProtective =
    traffic !== undefined || Object.keys(backend ?? {}).some((member) => member !== 'http')
  const { namespace } = policy.metadata
  const [ownGroup = ''] = policy.apiVersion.split('/', 1)
  const isKnown = (target: string): boolean =>
    KNOWN_TARGETS.has(target) || target === `${ownGroup}/ProxyBackend`
  const meant = targetRefs
    .filter(({ group, kind }) => isProtective && !isKnown(`${group}/${kind}`))
    .flatMap(({ name }) =>
      ['HTTPRoute', 'Gateway', 'ListenerSet'].map((kind) =>
        targetKey(GATEWAY_API_GROUP, kind, namespace, name),
      ),
    )
  return [...new Set([...targetKeys(policy), ...meant])]
}

const KNOWN_TARGETS = new Set([
  `${GATEWAY_API_GROUP}/HTTPRoute`,
  `${GATEWAY_API_GROUP}/Gateway`,
  `${GATEWAY_API_GROUP}/ListenerSet`,
  '/Service',
])

/** Index key of the relays whose tokens are interchangeable: same issuer and audience. */
export const relayTokensKey = (issuer: string, audience: string): string => `${issuer} ${audience}`

/** Returns the relayTokensKey()s of a policy that relays logins, one for each audience; none for other policies. */
export function relayTokensKeys({ spec }: Resource<ProxyPolicySpec>): readonly string[] {
  const { mcp, providers } = spec.traffic?.jwtAuthentication ?? {}
  if (mcp?.authorizationServer !== 'Relay') return []
  const keys = (providers ?? []).flatMap(({ issuer, audiences = [] }) =>
    audiences.map((audience) => relayTokensKey(issuer, audience)),
  )
  return [...new Set(keys)]
}

/** Returns the key of the Service of an EndpointSlice, if it has one. */
export function serviceOfSlice({ metadata }: Resource<EndpointSliceData>): readonly string[] {
  const service = metadata.labels[SERVICE_NAME_LABEL]
  return service === undefined ? [] : [keyIn(metadata.namespace, service)]
}

/** Returns the key of the ListenerSet's Gateway; none if its parent is of another kind. */
export const gatewayOfSet = ({
  metadata,
  spec: { parentRef },
}: Resource<ListenerSetSpec>): readonly string[] =>
  parentRef.group === GATEWAY_API_GROUP && parentRef.kind === 'Gateway'
    ? [keyIn(parentRef.namespace ?? metadata.namespace, parentRef.name)]
    : []

/** Returns the namespace of a resource, as an index key. */
export const namespaceOf = ({ metadata }: Resource<unknown>): readonly string[] => [
  metadata.namespace,
]

/** Label of a Service that leads to a Gateway's Envoys: the Gateway's name (Gateway API). */
const GATEWAY_NAME = 'gateway.networking.k8s.io/gateway-name'
/** Label for a Gateway of another namespace. */
const GATEWAY_NAMESPACE = 'policy.gatehouse.dev/gateway-namespace'
/** Label of a Service that leads to the Envoys of every Gateway of a class. */
const GATEWAY_CLASS = 'policy.gatehouse.dev/gateway-class'

/** Index key of the Services that lead to the Envoys of every Gateway of a class. */
export const classServicesKey = (gatewayClass: string): string => keyIn('', gatewayClass)

/** Returns the keys of the Gateway and the class that the labels name; none for most Services. */
export function envoyServiceKeys({ metadata }: Resource<unknown>): readonly string[] {
  const { labels, namespace } = metadata
  const gateway = labels[GATEWAY_NAME]
  const gatewayClass = labels[GATEWAY_CLASS]
  return [
    ...(gateway === undefined ? [] : [keyIn(labels[GATEWAY_NAMESPACE] ?? namespace, gateway)]),
    ...(gatewayClass === undefined ? [] : [classServicesKey(gatewayClass)]),
  ]
}
