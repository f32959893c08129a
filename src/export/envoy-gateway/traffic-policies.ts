// What Envoy Gateway's defaults would break or open: replies that end after 15 s, and paths with escaped slashes.

import type { MeshRoute } from '../../ir/mesh-route.js'
import type { GatewayName } from '../../ir/status.js'
import type { Manifest } from '../manifest.js'
import { durationText, manifestOf, policyName, targetRef } from './names.js'

/** BackendTrafficPolicy. None: Envoy's own limits stay. */
export function trafficPolicy(route: MeshRoute): readonly Manifest[] {
  const { namespace, name, isEndless, requestMs } = route
  if (!isEndless && requestMs === undefined) return []
  const http = {
    requestTimeout: durationText(requestMs ?? 0),
    ...(isEndless ? { streamIdleTimeout: '0s' } : {}),
  }
  return [
    manifestOf('BackendTrafficPolicy', namespace, policyName(name), {
      targetRefs: [targetRef('HTTPRoute', name)],
      timeout: { http },
    }),
  ]
}

/** ClientTrafficPolicy: with escaped slashes a path can be written so that another route than the protected one takes it. */
export const clientTrafficPolicy = ({ namespace, name }: GatewayName): Manifest =>
  manifestOf('ClientTrafficPolicy', namespace, policyName(name), {
    targetRefs: [targetRef('Gateway', name)],
    path: { escapedSlashesAction: 'RejectRequest' },
  })
