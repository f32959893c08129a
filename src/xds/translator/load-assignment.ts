// Builds Envoy's ClusterLoadAssignment of a destination.

import { create } from '@bufbuild/protobuf'
import {
  type Address,
  AddressSchema,
} from '../../grpc/generated/envoy/config/core/v3/address_pb.js'
import {
  type LbEndpoint,
  LbEndpointSchema,
} from '../../grpc/generated/envoy/config/endpoint/v3/endpoint_components_pb.js'
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from '../../grpc/generated/envoy/config/endpoint/v3/endpoint_pb.js'
import type { Destination, Endpoints } from '../../ir/destination.js'

/** envoy.config.core.v3.Address. address is an IP address, or a name where Envoy resolves one. */
export const socketAddress = (address: string, port: number): Address =>
  create(AddressSchema, {
    address: {
      case: 'socketAddress',
      value: { address, portSpecifier: { case: 'portValue', value: port } },
    },
  })

/** envoy.config.endpoint.v3.LbEndpoint */
export const lbEndpoint = (address: Address): LbEndpoint =>
  create(LbEndpointSchema, { hostIdentifier: { case: 'endpoint', value: { address } } })

const addressesOf = (endpoints: Endpoints): readonly Address[] =>
  endpoints.type === 'name'
    ? [socketAddress(endpoints.host, endpoints.port)]
    : endpoints.addresses.map(({ ip, port }) => socketAddress(ip, port))

/** envoy.config.endpoint.v3.ClusterLoadAssignment: a separate resource (EDS), or a part of its cluster. */
export function buildLoadAssignment({ name, endpoints }: Destination): ClusterLoadAssignment {
  const lbEndpoints = addressesOf(endpoints).map(lbEndpoint)
  return create(ClusterLoadAssignmentSchema, {
    clusterName: name,
    endpoints: lbEndpoints.length === 0 ? [] : [{ lbEndpoints }],
  })
}
