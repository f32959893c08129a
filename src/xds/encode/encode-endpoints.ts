// Encodes the endpoints of a cluster in slices, from the bytes of parts of the list: a Service may have tens of thousands.

import { create } from '@bufbuild/protobuf'
import type { Work } from '../../kit/turns.js'
import {
  type LbEndpoint,
  LocalityLbEndpointsSchema,
} from '../../wire/grpc/generated/envoy/config/endpoint/v3/endpoint_components_pb.js'
import { ClusterLoadAssignmentSchema } from '../../wire/grpc/generated/envoy/config/endpoint/v3/endpoint_pb.js'
import { fieldPrefixOf } from './elements.js'
import { encodedBytes, type EncodedResource, hashOf, resourceOf } from './encode.js'
import { lengthOf } from './parts.js'

const localityPrefix = fieldPrefixOf(ClusterLoadAssignmentSchema, 'endpoints')

/** Encodes a ClusterLoadAssignment whose endpoints, in parts, are of one locality. name: of the cluster. */
export function* encodeLoadAssignment(
  name: string,
  endpoints: Iterable<LbEndpoint[]>,
): Work<EncodedResource> {
  const own = create(ClusterLoadAssignmentSchema, { clusterName: name })
  const bytes = encodedBytes(ClusterLoadAssignmentSchema, own, name)
  const listed: Uint8Array[] = []
  for (const lbEndpoints of endpoints) {
    const part = create(LocalityLbEndpointsSchema, { lbEndpoints })
    listed.push(encodedBytes(LocalityLbEndpointsSchema, part, name))
    yield
  }
  const locality = listed.length === 0 ? [] : [localityPrefix(lengthOf(listed)), ...listed]
  const all = Buffer.concat([bytes, ...locality])
  return resourceOf(ClusterLoadAssignmentSchema, name, { parts: [all], version: hashOf(all) })
}
