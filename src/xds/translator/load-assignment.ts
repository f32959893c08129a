// Endpoints of a destination → Envoy's ClusterLoadAssignment.

import type { Destination, Endpoints } from '../../ir/destination.js'
import type { JsonObject } from '../../ir/json.js'
import { any } from './json-object.js'

/** envoy.config.endpoint.v3.LbEndpoint. address: an IP address, or a name in a STRICT_DNS cluster. */
const lbEndpoint = (address: string, port: number): JsonObject => ({
  endpoint: { address: { socket_address: { address, port_value: port } } },
})

const lbEndpoints = (endpoints: Endpoints): readonly JsonObject[] =>
  endpoints.type === 'name'
    ? [lbEndpoint(endpoints.host, endpoints.port)]
    : endpoints.addresses.map(({ ip, port }) => lbEndpoint(ip, port))

/** envoy.config.endpoint.v3.ClusterLoadAssignment, as a member of a Cluster. */
export function loadAssignment(cluster: string, endpoints: Endpoints): JsonObject {
  const endpointList = lbEndpoints(endpoints)
  return {
    cluster_name: cluster,
    endpoints: endpointList.length === 0 ? [] : [{ lb_endpoints: endpointList }],
  }
}

/** The same as a resource of its own (EDS). */
export const buildLoadAssignment = (destination: Destination): JsonObject =>
  any(
    'envoy.config.endpoint.v3.ClusterLoadAssignment',
    loadAssignment(destination.name, destination.endpoints),
  )
