// Builds the SecurityPolicy: CORS, and ext_authz with the table key as a context extension.

import type { MeshRoute } from '../../../../model/mesh-route.js'
import { ROUTE_CONTEXT_KEY } from '../../../../model/names.js'
import type { Cors } from '../../../../model/route.js'
import { durationText, policyName, targetRef } from '../gateway-api.js'
import type { Manifest } from '../manifest.js'
import { type BackendRefs, manifestOf } from './names.js'

/** Exceeds the one second that a check may wait for the extra fetch of a key set. */
const CHECK_TIMEOUT = '2s'
/** Requests that are only audited go on after it. */
const AUDIT_TIMEOUT = '1s'

/** Returns no manifest for a route that is only guarded: its CORS is left to the mesh. */
export function securityPolicy(
  route: MeshRoute,
  { gatehouse }: BackendRefs,
  isSealed: boolean,
): readonly Manifest[] {
  const { namespace, name, authz, cors } = route
  if (authz === undefined) return []
  return [
    manifestOf('SecurityPolicy', namespace, policyName(name), {
      targetRefs: [targetRef('HTTPRoute', name)],
      ...(cors === undefined ? {} : { cors: corsSpec(cors) }),
      // An allowed request carries the mark: recomputing its route selects the rule with the backends.
      extAuth: {
        ...extAuth(authz, gatehouse),
        ...(isSealed && authz.isAudited !== true ? { recomputeRoute: true } : {}),
      },
    }),
  ]
}

/** Sets timeout and status explicitly: Envoy Gateway's defaults are 10 s and 403. */
const extAuth = (
  { key, isAudited }: NonNullable<MeshRoute['authz']>,
  gatehouse: object,
): object => ({
  failOpen: isAudited === true,
  timeout: isAudited === true ? AUDIT_TIMEOUT : CHECK_TIMEOUT,
  statusOnError: 503,
  contextExtensions: [{ name: ROUTE_CONTEXT_KEY, type: 'Value', value: key }],
  grpc: { backendRefs: [gatehouse] },
})

/** CORS of a SecurityPolicy. */
export const corsSpec = (cors: Cors): object => ({
  allowOrigins: cors.allowOrigins,
  ...(cors.allowMethods.length === 0 ? {} : { allowMethods: cors.allowMethods }),
  ...(cors.allowHeaders.length === 0 ? {} : { allowHeaders: cors.allowHeaders }),
  ...(cors.exposeHeaders.length === 0 ? {} : { exposeHeaders: cors.exposeHeaders }),
  allowCredentials: cors.allowCredentials,
  ...(cors.maxAge === undefined ? {} : { maxAge: durationText(cors.maxAge * 1000) }),
})
