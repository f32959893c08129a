// Builds the EnvoyFilter of a Gateway: Gatehouse's filters, disabled unless a route enables them or policies are required,
// and the patches of its routes.

import type { JsonObject } from '../../../../model/json.js'
import type { MeshRoute } from '../../../../model/mesh-route.js'
import type { GatewayName } from '../../../../model/status.js'
import {
  buildAuditFilter,
  buildExtAuthzFilter,
  EXT_AUTHZ_FILTER,
  packedExtAuthzFields,
} from '../../../../xds/translator/filters/ext-authz.js'
import { buildExtProcFilter } from '../../../../xds/translator/filters/ext-proc.js'
import {
  CONNECTION_MANAGER_FILTER,
  packedPathFields,
} from '../../../../xds/translator/filters/http-connection-manager.js'
import { ROUTER_FILTER } from '../../../../xds/translator/filters/router.js'
import type { FilterServer } from '../../../../xds/translator/messages.js'
import { policyName, targetRef } from '../gateway-api.js'
import { type ExportAddress, type Manifest, metadataOf } from '../manifest.js'
import { authzFilterOf } from './authz.js'
import { anyJson, filterJson } from './envoy-json.js'
import { AUTHZ_FILTER, clusterOf, PROC_FILTER, routeFilterName } from './names.js'
import { type ConfigPatch, type PatchOptions, routePatches } from './route-patches.js'

/** Options of the EnvoyFilter of one Gateway. */
export interface FilterOptions {
  readonly gatehouse: ExportAddress
  readonly isSealed: boolean
  /** Extension provider of an AuthorizationPolicy; absent: the EnvoyFilter inserts the filter that asks Gatehouse. */
  readonly customProvider?: string | undefined
  /** Whether the inserted ext_authz filter is on for all routes of the Gateway: those without a key are denied. */
  readonly requirePolicy?: boolean | undefined
}

/** routes: those of the Gateway. */
export function envoyFilter(
  { namespace, name }: GatewayName,
  routes: readonly MeshRoute[],
  options: FilterOptions,
): Manifest {
  const patch = patchOptions(options)
  return manifestOf(
    namespace,
    policyName(name),
    [name],
    [
      ...filterPatches(options, routes.some(isAuditedRoute)),
      ...routes.flatMap((route) => routePatches(route, patch)),
    ],
  )
}

/** The EnvoyFilter of a Gateway without patches for routes. */
export const filtersOfGateway = (
  { namespace, name }: GatewayName,
  options: FilterOptions,
  hasAudits: boolean,
): Manifest => manifestOf(namespace, policyName(name), [name], filterPatches(options, hasAudits))

/** The EnvoyFilters with the patches of one route: one for each namespace of its Gateways, and for all Gateways there. */
export function filtersOfRoute(route: MeshRoute, options: FilterOptions): readonly Manifest[] {
  const namespaces = [...new Set(route.gateways.map(({ namespace }) => namespace))]
  return namespaces.map((namespace) =>
    manifestOf(
      namespace,
      routeFilterName(route.namespace, route.name),
      route.gateways.flatMap((gateway) => (gateway.namespace === namespace ? [gateway.name] : [])),
      routePatches(route, { ...patchOptions(options), hasSpare: true }),
    ),
  )
}

/** Whether policies of mode Audit alone want the checks of a route. */
export const isAuditedRoute = ({ authz }: MeshRoute): boolean => authz?.isAudited === true

const patchOptions = (options: FilterOptions): PatchOptions => ({
  isSealed: options.isSealed,
  authzFilter: authzFilterOf(options.customProvider),
  checksDocuments: isOnForAll(options),
})

/** An AuthorizationPolicy names the paths that are checked. */
const isOnForAll = ({ requirePolicy, customProvider }: FilterOptions): boolean =>
  requirePolicy === true && customProvider === undefined

const manifestOf = (
  namespace: string,
  name: string,
  gateways: readonly string[],
  configPatches: readonly ConfigPatch[],
): Manifest => ({
  apiVersion: 'networking.istio.io/v1alpha3',
  kind: 'EnvoyFilter',
  metadata: metadataOf(namespace, name),
  spec: { targetRefs: gateways.map((gateway) => targetRef('Gateway', gateway)), configPatches },
})

/** Patches that add Gatehouse's filters to the listeners of a Gateway. */
function filterPatches(options: FilterOptions, hasAudits: boolean): readonly ConfigPatch[] {
  const { gatehouse, customProvider, isSealed } = options
  // Without an authority, Envoy sends the cluster's name, which is not a valid one: it contains "|".
  const server = { clusterName: clusterOf(gatehouse), authority: gatehouse.host }
  return [
    MANAGER_PATCH,
    // Filters are inserted directly before the router: behind CORS and Istio's own filters, in this order.
    customProvider === undefined ? ownAuthz(server, options) : customAuthz(isSealed),
    ...(hasAudits ? [insert(filterJson(buildAuditFilter(server)))] : []),
    insert({ ...filterJson(buildExtProcFilter(server)), name: PROC_FILTER }),
  ]
}

/**
 * Inserts the filter, disabled unless policies are required: routes with a key enable it. An allowed request of a sealed
 * route carries the mark: its route is chosen again.
 */
const ownAuthz = (server: FilterServer, options: FilterOptions): ConfigPatch =>
  insert({
    ...filterJson(
      buildExtAuthzFilter({
        server,
        clearRouteCache: options.isSealed,
        checksAll: isOnForAll(options),
      }),
    ),
    name: AUTHZ_FILTER,
    ...(isOnForAll(options) ? {} : { disabled: true }),
  })

/** Completes the filter that istiod makes of the AuthorizationPolicy. */
const customAuthz = (isSealed: boolean): ConfigPatch => ({
  applyTo: 'HTTP_FILTER',
  match: matchFilter(EXT_AUTHZ_FILTER),
  patch: {
    operation: 'MERGE',
    value: { name: EXT_AUTHZ_FILTER, typed_config: anyJson(packedExtAuthzFields(isSealed)) },
  },
})

/** Makes paths unambiguous, and removes headers that only Gatehouse or Envoy may set. */
const MANAGER_PATCH: ConfigPatch = {
  applyTo: 'NETWORK_FILTER',
  match: {
    context: 'GATEWAY',
    listener: { filterChain: { filter: { name: CONNECTION_MANAGER_FILTER } } },
  },
  patch: { operation: 'MERGE', value: { typed_config: anyJson(packedPathFields) } },
}

const insert = (value: JsonObject): ConfigPatch => ({
  applyTo: 'HTTP_FILTER',
  match: matchFilter(ROUTER_FILTER),
  patch: { operation: 'INSERT_BEFORE', value },
})

const matchFilter = (name: string): JsonObject => ({
  context: 'GATEWAY',
  listener: {
    filterChain: { filter: { name: CONNECTION_MANAGER_FILTER, subFilter: { name } } },
  },
})
