// Names and references of exported objects, and their form in Envoy Gateway's API.

import type { MeshParent } from '../../ir/mesh-route.js'
import type { Manifest } from '../manifest.js'
import { metadataOf } from '../manifest.js'

/** API group of Envoy Gateway's own kinds. */
export const GROUP = 'gateway.envoyproxy.io'

const GATEWAY_API = 'gateway.networking.k8s.io'

/** Name of the Backend for Gatehouse. */
export const GATEHOUSE_BACKEND = 'gatehouse'
/** Name of the Backend for the closed address, from which no request gets a backend's answer. */
export const CLOSED_BACKEND = 'gatehouse-closed'

/** Name of the policies on an HTTPRoute. */
export const policyName = (route: string): string => `gatehouse-${route}`

/** A reference to a Backend of the same namespace. */
export const toBackend = (name: string): object => ({ group: GROUP, kind: 'Backend', name })

/** Reference to the target of a policy. rule: name of a rule of the target. */
export const targetRef = (kind: 'HTTPRoute' | 'Gateway', name: string, rule?: string): object => ({
  group: GATEWAY_API,
  kind,
  name,
  ...(rule === undefined ? {} : { sectionName: rule }),
})

/** A parentRef of a route. */
export const parentRef = ({
  group,
  kind,
  namespace,
  name,
  sectionName,
  port,
}: MeshParent): object => ({
  group,
  kind,
  ...(namespace === undefined ? {} : { namespace }),
  name,
  ...(sectionName === undefined ? {} : { sectionName }),
  ...(port === undefined ? {} : { port }),
})

/** An object of Envoy Gateway's API. */
export const manifestOf = (
  kind: string,
  namespace: string,
  name: string,
  spec: object,
): Manifest => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind,
  metadata: metadataOf(namespace, name),
  spec,
})

/** Formats a duration of the Gateway API (GEP-2257), which allows at most five digits per unit. */
export function durationText(ms: number): string {
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 1000) % 3600, 's'],
    [ms % 1000, 'ms'],
  ].filter(([count]) => count !== 0)
  return parts.length === 0 ? '0s' : parts.map(([count, unit]) => `${count}${unit}`).join('')
}
