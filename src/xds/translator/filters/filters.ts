// The HTTP filters of every listener, in order. Whoever adds a filter adds it here, and nowhere else.

import type { Any } from '@bufbuild/protobuf/wkt'
import type { Route } from '../../../model/route.js'
import type { HttpFilter } from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { corsFilter } from './cors.js'
import { auditFilter, extAuthzFilter, headFilter } from './ext-authz.js'
import { bodyFilter, extProcFilter, guardAuditFilter } from './ext-proc.js'
import type { FilterDefinition } from './filter.js'
import { limitAuditFilter, localRateLimitFilter } from './local-rate-limit.js'
import { oneHostFilter } from './one-host.js'
import { routerFilter } from './router.js'

/**
 * Requests for more than one host are refused first: no other filter knows which one is meant.
 * cors next: it answers preflights before authentication and adds its headers to the other filters' replies.
 * The check of the headers before the body is held, and that before the check which needs it.
 * ext_authz before ext_proc: only authorized requests cost a body, and the claims are available.
 * The rate limit between them: ext_authz supplies its keys, so requests without a valid token use up nobody's limit,
 * and a limited request costs no body and no webhook.
 * Copies for audits last: webhooks in force have let the prompt pass, and the reply is as the LLM sent it.
 */
const FILTERS: readonly FilterDefinition[] = [
  oneHostFilter,
  corsFilter,
  headFilter,
  bodyFilter,
  extAuthzFilter,
  auditFilter,
  localRateLimitFilter,
  limitAuditFilter,
  extProcFilter,
  guardAuditFilter,
  routerFilter,
]

/** Returns the HTTP filters of a listener, in order. */
export const httpFilters = (): HttpFilter[] => FILTERS.map(({ listener }) => listener())

/** Returns the configuration of each filter on a route: typed_per_filter_config. */
export function perFilterConfig(route: Route): Record<string, Any> {
  const config: Record<string, Any> = {}
  for (const filter of FILTERS) {
    const own = filter.route?.(route)
    if (own !== undefined) config[filter.name] = own
  }
  return config
}
