// Builds the endpoints of a destination, for Envoy's ClusterLoadAssignment.

import { create } from '@bufbuild/protobuf'
import type { Address as Endpoint } from '../../model/destination.js'
import {
  type Address,
  AddressSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/address_pb.js'
import {
  type LbEndpoint,
  LbEndpointSchema,
} from '../../wire/grpc/generated/envoy/config/endpoint/v3/endpoint_components_pb.js'
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema,
} from '../../wire/grpc/generated/envoy/config/endpoint/v3/endpoint_pb.js'

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

/** Endpoints that are built, and encoded, at once. */
const PART = 256

/** Builds the endpoints at known addresses in parts, each when it is asked for. */
export function* lbEndpointsOf(addresses: readonly Endpoint[]): Generator<LbEndpoint[]> {
  for (let from = 0; from < addresses.length; from += PART)
    yield addresses
      .slice(from, from + PART)
      .map(({ ip, port }) => lbEndpoint(socketAddress(ip, port)))
}

/** envoy.config.endpoint.v3.ClusterLoadAssignment as a part of its cluster: of a host that Envoy resolves. */
export const buildLoadAssignment = (
  name: string,
  host: string,
  port: number,
): ClusterLoadAssignment =>
  create(ClusterLoadAssignmentSchema, {
    clusterName: name,
    endpoints: [{ lbEndpoints: [lbEndpoint(socketAddress(host, port))] }],
  })
