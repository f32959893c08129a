// Converts discovery requests of either protocol into changes of the subscription to their type.

import type {
  DeltaDiscoveryRequest,
  DiscoveryRequest,
} from '../../grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { StreamRequest } from './ads-stream.js'

/** State of the world: the request has the complete list of names. */
export const subscribeToWorld = (request: DiscoveryRequest): StreamRequest => ({
  ...common(request),
  version: request.versionInfo,
  subscribe: (type, first) => {
    const added = type.subscription.replace(request.resourceNames)
    type.delivery.forgetUnless((name) => type.subscription.wants(name))
    if (added.length > 0) type.delivery.forget(added)
    if (first || added.length > 0) type.owed = true
  },
})

/** Incremental: the request has the added and removed names, and the first one also has what Envoy already holds. */
export const subscribeToChanges = (request: DeltaDiscoveryRequest): StreamRequest => ({
  ...common(request),
  subscribe: (type, first) => {
    const { resourceNamesSubscribe: come, resourceNamesUnsubscribe: go } = request
    type.subscription.change(come, go)
    if (first) type.delivery.alreadyHeld(request.initialResourceVersions)
    else type.delivery.forget(come)
    if (go.length > 0) type.delivery.forgetUnless((name) => type.subscription.wants(name))
    // Still wanted by the wildcard: Envoy has dropped it and must receive it again.
    const again = go.filter((name) => type.subscription.wants(name))
    type.delivery.forget(again)
    if (first) type.ask(type.subscription.names)
    else if (come.length + again.length > 0)
      type.ask(new Set([...come, ...again].filter((name) => name !== '*')))
  },
})

const common = (request: DiscoveryRequest | DeltaDiscoveryRequest) => ({
  typeUrl: request.typeUrl,
  nonce: request.responseNonce,
  ...(request.errorDetail !== undefined && {
    refusal: withoutPattern(request.errorDetail.message),
  }),
})

/** Hides the pattern that Envoy quotes: it may be for the value of a header, and the reason is in the log and the status. */
const withoutPattern = (reason: string): string =>
  reason.replace(/regex '.*'(?=:| RE2 )/gs, "regex '[redacted]'")
