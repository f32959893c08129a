// Makes the Services that closed routes lead to.

import type { MeshRoute } from '../../../../model/mesh-route.js'
import { type Manifest, metadataOf } from '../manifest.js'
import { CLOSED_PORT, CLOSED_SERVICE } from './names.js'

/** Reference to the Service without endpoints, in the route's own namespace. */
export const CLOSED_SERVICE_REF = { name: CLOSED_SERVICE, port: CLOSED_PORT }

/** Returns the Services for the namespaces whose routes lead there. */
export const closedServices = (
  routes: readonly MeshRoute[],
  sealed: readonly MeshRoute[],
): readonly Manifest[] =>
  [
    ...new Set(
      routes
        .filter((route) => route.documents !== undefined || sealed.includes(route))
        .map(({ namespace }) => namespace),
    ),
  ].map((namespace) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadataOf(namespace, CLOSED_SERVICE),
    // Without a selector, no pod is ever behind it.
    spec: { ports: [{ name: 'http', port: CLOSED_PORT }] },
  }))
