// Names that an export for Istio and istiod must agree on, and names of exported objects.

import { nameAfter } from '../../../../model/names.js'
import type { ExportAddress } from '../manifest.js'

/** Name of Gatehouse's ext_authz filter; it differs from Envoy's own, which Istio uses for an AuthorizationPolicy. */
export const AUTHZ_FILTER = 'gatehouse.ext_authz'
/** Name of Gatehouse's ext_proc filter. */
export const PROC_FILTER = 'gatehouse.ext_proc'

/** Name of the Service without endpoints, from which no request gets a backend's answer. */
export const CLOSED_SERVICE = 'gatehouse-closed'
/** Port of that Service. */
export const CLOSED_PORT = 80

/** Name of the cluster that istiod makes for a port of a host. */
export const clusterOf = ({ host, port }: ExportAddress): string => `outbound|${port}||${host}`

/**
 * Name that istiod gives the Envoy routes of a rule, one for each match. Users choose rule names, so it may occur
 * twice.
 */
export const istioRouteName = (
  namespace: string,
  httpRoute: string,
  index: number,
  rule: string | undefined,
): string => rule ?? `${namespace}.${httpRoute}.${index}`

/**
 * Name of the EnvoyFilter with the patches of one HTTPRoute alone. Namespaces contain no dot, and policyName() begins
 * with other characters, so no two objects share a name.
 */
export const routeFilterName = (namespace: string, httpRoute: string): string =>
  nameAfter(`gatehouse.${namespace}.`, httpRoute)
