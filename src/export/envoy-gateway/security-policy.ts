// SecurityPolicy: CORS, and ext_authz with the table key as a context extension.

import type { MeshRoute } from '../../ir/mesh-route.js'
import { ROUTE_CONTEXT_KEY } from '../../ir/names.js'
import type { Cors } from '../../ir/route.js'
import type { Manifest } from '../manifest.js'
import {
  durationText,
  GATEHOUSE_BACKEND,
  manifestOf,
  policyName,
  targetRef,
  toBackend,
} from './names.js'

/** Above the second that a check may wait for a key set's extra fetch. */
const CHECK_TIMEOUT = '2s'

/** None: the route is guarded alone, and what it says of CORS is the mesh's. */
export function securityPolicy(route: MeshRoute, isSealed: boolean): readonly Manifest[] {
  const { namespace, name, authz, cors } = route
  if (authz === undefined) return []
  return [
    manifestOf('SecurityPolicy', namespace, policyName(name), {
      targetRefs: [targetRef('HTTPRoute', name)],
      ...(cors === undefined ? {} : { cors: corsSpec(cors) }),
      // The mark of a request that is let in takes it to the rule with the backends.
      extAuth: { ...extAuth(authz), ...(isSealed ? { recomputeRoute: true } : {}) },
    }),
  ]
}

/** Envoy Gateway's own defaults are 10 s and 403. */
const extAuth = ({ key }: NonNullable<MeshRoute['authz']>): object => ({
  failOpen: false,
  timeout: CHECK_TIMEOUT,
  statusOnError: 503,
  contextExtensions: [{ name: ROUTE_CONTEXT_KEY, type: 'Value', value: key }],
  grpc: { backendRefs: [toBackend(GATEHOUSE_BACKEND)] },
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
