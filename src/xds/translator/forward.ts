// Builds Envoy's RouteAction: one or more weighted clusters, Host, path, timeouts and upgrades.

import { create } from '@bufbuild/protobuf'
import { LOOP_DETECTED } from '../../model/hops.js'
import { UNRESOLVED_CLUSTER } from '../../model/names.js'
import type {
  ForwardAction,
  HeaderModifier,
  Mirror,
  Route,
  Timeouts,
  WeightedDestination,
} from '../../model/route.js'
import {
  type RouteAction,
  type RouteAction_RequestMirrorPolicy as RequestMirrorPolicy,
  RouteAction_RequestMirrorPolicySchema as RequestMirrorPolicySchema,
  RouteActionSchema,
  type WeightedCluster_ClusterWeight as ClusterWeight,
  WeightedCluster_ClusterWeightSchema as ClusterWeightSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { FractionalPercent_DenominatorType } from '../../wire/grpc/generated/envoy/type/v3/percent_pb.js'
import { UNRESOLVED_MARK } from './filters/local-reply.js'
import { headerFields } from './headers.js'
import { COUNT_COPY } from './hops.js'
import { durationOf, type FieldsOf } from './messages.js'
import { pathRewrite } from './path-rewrite.js'
import { headersTowards } from './request-headers.js'

/** envoy.config.route.v3.WeightedCluster.ClusterWeight */
function clusterWeight(destination: WeightedDestination, route: Route): ClusterWeight {
  const { destination: name, weight } = destination
  if (name === undefined)
    return create(ClusterWeightSchema, {
      name: UNRESOLVED_CLUSTER,
      weight,
      requestHeadersToAdd: [UNRESOLVED_MARK],
    })
  const host = hostRewrite(route, destination)
  return create(ClusterWeightSchema, {
    name,
    weight,
    hostRewriteSpecifier:
      host === undefined ? undefined : { case: 'hostRewriteLiteral', value: host },
    ...headerFields({ ...destination, requestHeaders: headersTowards(route, destination) }),
  })
}

/** envoy.config.route.v3.RouteAction.RequestMirrorPolicy. Without the flag Envoy appends "-shadow" to the Host. */
const mirrorPolicy = ({ destination, perMillion, host }: Mirror): RequestMirrorPolicy =>
  create(RequestMirrorPolicySchema, {
    cluster: destination,
    runtimeFraction: {
      defaultValue: {
        numerator: perMillion,
        denominator: FractionalPercent_DenominatorType.MILLION,
      },
    },
    disableShadowHostSuffixAppend: true,
    requestHeadersMutations: [COUNT_COPY],
    ...(host === undefined ? {} : { hostRewriteLiteral: host }),
  })

/** What a route with retries tries again besides its codes: failures of the connection, timeouts of a single try. */
const RETRY_ON = 'connect-failure,refused-stream,reset'

/** Envoy's default maximum of the pause, as a multiple of the first one. */
const LONGEST_BACKOFF = 10

/** Returns how often a backend request is tried, and the limit of each try. Without retries there is a single one. */
function retryFields({ timeouts, retry }: ForwardAction): FieldsOf<typeof RouteActionSchema> {
  const limit = timeouts.backendRequestMs ?? 0
  const perTryTimeout = limit === 0 ? {} : { perTryTimeout: durationOf(limit) }
  if (retry === undefined)
    return limit === 0 ? {} : { retryPolicy: { numRetries: 0, ...perTryTimeout } }
  const { attempts, backoffMs = 0 } = retry
  // Each gateway of a loop would try again, and again all that come after it.
  const codes = retry.codes.filter((code) => code !== LOOP_DETECTED)
  const backOff = {
    baseInterval: durationOf(backoffMs),
    maxInterval: durationOf(backoffMs * LONGEST_BACKOFF),
  }
  return {
    retryPolicy: {
      retryOn: codes.length === 0 ? RETRY_ON : `${RETRY_ON},retriable-status-codes`,
      numRetries: attempts,
      retriableStatusCodes: codes,
      ...perTryTimeout,
      ...(backoffMs === 0 ? {} : { retryBackOff: backOff }),
    },
  }
}

const timeoutFields = ({ requestMs, idleMs }: Timeouts): FieldsOf<typeof RouteActionSchema> => ({
  timeout: requestMs === undefined ? undefined : durationOf(requestMs),
  idleTimeout: idleMs === undefined ? undefined : durationOf(idleMs),
})

function pathFields(action: ForwardAction, route: Route): FieldsOf<typeof RouteActionSchema> {
  const rewrite = pathRewrite(action.rewrite?.path, route.match.path)
  if (rewrite === undefined) return {}
  return rewrite.case === 'prefixRewrite'
    ? { prefixRewrite: rewrite.value }
    : { regexRewrite: rewrite.value }
}

/** envoy.config.route.v3.RouteAction. A single destination is weighted too: its header modifiers need a place. */
export const buildForward = (action: ForwardAction, route: Route): RouteAction =>
  create(RouteActionSchema, {
    clusterSpecifier: {
      case: 'weightedClusters',
      value: {
        clusters: action.destinations
          .filter((destination) => destination.weight > 0)
          .map((destination) => clusterWeight(destination, route)),
      },
    },
    ...pathFields(action, route),
    ...timeoutFields(action.timeouts),
    ...retryFields(action),
    requestMirrorPolicies: (action.mirrors ?? []).map(mirrorPolicy),
    upgradeConfigs: action.allowUpgrades ? [{ upgradeType: 'websocket', enabled: true }] : [],
  })

/** Returns the Host that a modifier sets, which Envoy does not accept among the headers to set. */
const hostHeader = (modifier: HeaderModifier | undefined): string | undefined =>
  modifier?.set.find((header) => header.name.toLowerCase() === 'host')?.value

/** Returns the new Host; undefined to keep the client's. */
export function hostRewrite(route: Route, destination: WeightedDestination): string | undefined {
  const rewrite = route.action.type === 'forward' ? route.action.rewrite : undefined
  return (
    rewrite?.hostname ??
    hostHeader(destination.requestHeaders) ??
    hostHeader(route.requestHeaders) ??
    destination.host
  )
}
