// Encodes listeners by joining the bytes of their filter chains, each of which may have a long bundle of authorities.

import {
  type FilterChain,
  FilterChainSchema,
} from '../../wire/grpc/generated/envoy/config/listener/v3/listener_components_pb.js'
import {
  type Listener,
  ListenerSchema,
} from '../../wire/grpc/generated/envoy/config/listener/v3/listener_pb.js'
import { encodedElementsOf, joinFields } from './elements.js'
import { encode, type Encoded, type EncodedResource, resourceOf } from './encode.js'

/** Encodes one filter chain. */
export const encodeFilterChain = (chain: FilterChain): Encoded =>
  encode(FilterChainSchema, chain, chain.name)

const filterChains = encodedElementsOf(ListenerSchema, 'filter_chains')

/** Encodes a Listener. listener has no filter chains; they are appended. */
export function encodeListener(listener: Listener, chains: readonly Encoded[]): EncodedResource {
  const own = encode(ListenerSchema, listener, listener.name)
  return resourceOf(ListenerSchema, listener.name, joinFields(own, [filterChains(chains)]))
}
