// Overrides defaults of Envoy Gateway that would end replies after 15 s or allow paths with escaped slashes.

import type { MeshRoute } from '../../ir/mesh-route.js'
import type { GatewayName } from '../../ir/status.js'
import { durationText, policyName, targetRef } from '../gateway-api.js'
import type { Manifest } from '../manifest.js'
import { manifestOf } from './names.js'

/** Returns the BackendTrafficPolicy; none if the default limits may apply. */
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

/** Returns the ClientTrafficPolicy: a path with escaped slashes could match another route than the protected one. */
export const clientTrafficPolicy = ({ namespace, name }: GatewayName): Manifest =>
  manifestOf('ClientTrafficPolicy', namespace, policyName(name), {
    targetRefs: [targetRef('Gateway', name)],
    path: { escapedSlashesAction: 'RejectRequest' },
  })
