// The xDS resource types that Gatehouse serves, by the URL used in Any and discovery requests.

/** Prefix of every type URL. */
export const TYPE_URL_PREFIX = 'type.googleapis.com/'

/** Type URL of clusters (CDS). */
export const CLUSTER_TYPE = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
/** Type URL of endpoints (EDS). */
export const ENDPOINT_TYPE = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment'
/** Type URL of listeners (LDS). */
export const LISTENER_TYPE = 'type.googleapis.com/envoy.config.listener.v3.Listener'
/** Type URL of route configurations (RDS). */
export const ROUTE_TYPE = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration'
/** Type URL of virtual hosts (VHDS). */
export const VIRTUAL_HOST_TYPE = 'type.googleapis.com/envoy.config.route.v3.VirtualHost'
/** Type URL of secrets (SDS). */
export const SECRET_TYPE = 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret'

/** The types in the order in which changes are sent, so nothing names what Envoy does not have yet. */
export const PUSH_ORDER: readonly string[] = [
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  VIRTUAL_HOST_TYPE,
  SECRET_TYPE,
]

/** Returns the short name for metrics and messages: "type.googleapis.com/a.b.Listener" → "Listener". */
export const shortType = (typeUrl: string): string =>
  typeUrl.slice(Math.max(typeUrl.lastIndexOf('.'), typeUrl.lastIndexOf('/')) + 1)
