// The xDS resource types that Gatehouse serves, by the URL used in Any and discovery requests.

export const TYPE_URL_PREFIX = 'type.googleapis.com/'

export const CLUSTER_TYPE = 'type.googleapis.com/envoy.config.cluster.v3.Cluster'
export const ENDPOINT_TYPE = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment'
export const LISTENER_TYPE = 'type.googleapis.com/envoy.config.listener.v3.Listener'
export const ROUTE_TYPE = 'type.googleapis.com/envoy.config.route.v3.RouteConfiguration'
export const VIRTUAL_HOST_TYPE = 'type.googleapis.com/envoy.config.route.v3.VirtualHost'
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
