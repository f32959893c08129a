// ForwardAction → Envoy's RouteAction: one cluster or weighted ones, Host, path, timeouts, upgrades.

import type { Json, JsonObject } from '../../ir/json.js'
import { UNRESOLVED_CLUSTER } from '../../ir/names.js'
import type {
  ForwardAction,
  HeaderModifier,
  Route,
  Timeouts,
  WeightedDestination,
} from '../../ir/route.js'
import { headerFields } from './headers.js'
import { durationJson, jsonObject } from './json-object.js'
import { UNRESOLVED_MARK } from './local-reply.js'
import { pathRewriteFields } from './path-rewrite.js'
import { headersTowards } from './request-headers.js'

/** envoy.config.route.v3.WeightedCluster.ClusterWeight */
function clusterWeight(destination: WeightedDestination, route: Route): JsonObject {
  if (destination.destination === undefined) {
    return {
      name: UNRESOLVED_CLUSTER,
      weight: destination.weight,
      request_headers_to_add: [UNRESOLVED_MARK],
    }
  }
  return jsonObject({
    name: destination.destination,
    weight: destination.weight,
    host_rewrite_literal: hostRewrite(route, destination),
    ...headerFields({ ...destination, requestHeaders: headersTowards(route, destination) }),
  })
}

/** A single destination stands in weighted_clusters too: its header modifiers have no other place. */
const clusterFields = (action: ForwardAction, route: Route): JsonObject => ({
  weighted_clusters: {
    clusters: action.destinations
      .filter((destination) => destination.weight > 0)
      .map((destination) => clusterWeight(destination, route)),
  },
})

const milliseconds = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : durationJson(value)

/** A backend request has one try here; its own limit counts only where the whole request's is longer. */
const timeoutFields = (timeouts: Timeouts): Readonly<Record<string, Json | undefined>> => ({
  timeout: milliseconds(timeouts.requestMs),
  idle_timeout: milliseconds(timeouts.idleMs),
  retry_policy:
    timeouts.backendRequestMs === undefined || timeouts.backendRequestMs === 0
      ? undefined
      : { num_retries: 0, per_try_timeout: durationJson(timeouts.backendRequestMs) },
})

/** envoy.config.route.v3.RouteAction */
export const buildForward = (action: ForwardAction, route: Route): JsonObject => ({
  ...clusterFields(action, route),
  ...pathRewriteFields(action.rewrite?.path, route.match.path),
  ...jsonObject({
    ...timeoutFields(action.timeouts),
    upgrade_configs: action.allowUpgrades
      ? [{ upgrade_type: 'websocket', enabled: true }]
      : undefined,
  }),
})

/** Envoy takes no Host among the headers to set. */
const hostHeader = (modifier: HeaderModifier | undefined): string | undefined =>
  modifier?.set.find((header) => header.name.toLowerCase() === 'host')?.value

/** Undefined: the client's own. */
export function hostRewrite(route: Route, destination: WeightedDestination): string | undefined {
  const rewrite = route.action.type === 'forward' ? route.action.rewrite : undefined
  return (
    rewrite?.hostname ??
    hostHeader(destination.requestHeaders) ??
    hostHeader(route.requestHeaders) ??
    destination.host
  )
}
