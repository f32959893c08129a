// Builds the EnvoyFilter of a Gateway: Gatehouse's filters, disabled unless a route enables them, and the patches of
// its routes.

import type { JsonObject } from '../../ir/json.js'
import type { MeshRoute } from '../../ir/mesh-route.js'
import type { GatewayName } from '../../ir/status.js'
import { buildAuditFilter, buildExtAuthzFilter } from '../../xds/translator/ext-authz.js'
import { buildExtProcFilter } from '../../xds/translator/ext-proc.js'
import { CONNECTION_MANAGER_FILTER, ROUTER_FILTER } from '../../xds/translator/filter-names.js'
import { packedPathFields } from '../../xds/translator/http-connection-manager.js'
import { policyName, targetRef } from '../gateway-api.js'
import { type ExportAddress, type Manifest, metadataOf } from '../manifest.js'
import { anyJson, filterJson } from './envoy-json.js'
import { AUTHZ_FILTER, clusterOf, PROC_FILTER } from './names.js'
import { type ConfigPatch, routePatches } from './route-patches.js'

/** routes: those of the Gateway. */
export function envoyFilter(
  { namespace, name }: GatewayName,
  routes: readonly MeshRoute[],
  gatehouse: ExportAddress,
  isSealed: boolean,
): Manifest {
  // Without an authority, Envoy sends the cluster's name, which is not a valid one: it contains "|".
  const server = { clusterName: clusterOf(gatehouse), authority: gatehouse.host }
  // An allowed request of a sealed route carries the mark: its route is chosen again.
  const authz = buildExtAuthzFilter({ server, clearRouteCache: isSealed })
  return {
    apiVersion: 'networking.istio.io/v1alpha3',
    kind: 'EnvoyFilter',
    metadata: metadataOf(namespace, policyName(name)),
    spec: {
      targetRefs: [targetRef('Gateway', name)],
      configPatches: [
        MANAGER_PATCH,
        // Each is inserted directly before the router: behind CORS and Istio's own filters, in this order.
        // ext_authz would ask about every route; the routes with a key enable it.
        filterPatch({ ...filterJson(authz), name: AUTHZ_FILTER, disabled: true }),
        ...(routes.some(({ authz }) => authz?.isAudited === true)
          ? [filterPatch(filterJson(buildAuditFilter(server)))]
          : []),
        filterPatch({ ...filterJson(buildExtProcFilter(server)), name: PROC_FILTER }),
        ...routes.flatMap((route) => routePatches(route, isSealed)),
      ],
    },
  }
}

/** Makes paths unambiguous, and removes headers that only Gatehouse or Envoy may set. */
const MANAGER_PATCH: ConfigPatch = {
  applyTo: 'NETWORK_FILTER',
  match: {
    context: 'GATEWAY',
    listener: { filterChain: { filter: { name: CONNECTION_MANAGER_FILTER } } },
  },
  patch: { operation: 'MERGE', value: { typed_config: anyJson(packedPathFields) } },
}

const filterPatch = (value: JsonObject): ConfigPatch => ({
  applyTo: 'HTTP_FILTER',
  match: {
    context: 'GATEWAY',
    listener: {
      filterChain: {
        filter: { name: CONNECTION_MANAGER_FILTER, subFilter: { name: ROUTER_FILTER } },
      },
    },
  },
  patch: { operation: 'INSERT_BEFORE', value },
})
