// RedirectAction → Envoy's RedirectAction, with the port that the Gateway API wants in Location.

import type { JsonObject } from '../../ir/json.js'
import type { PathMatch, RedirectAction } from '../../ir/route.js'
import { jsonObject } from './json-object.js'
import { pathRewriteFields } from './path-rewrite.js'
import type { RouteContext } from './route-context.js'

const RESPONSE_CODES: Readonly<Record<RedirectAction['statusCode'], string>> = {
  301: 'MOVED_PERMANENTLY',
  302: 'FOUND',
  303: 'SEE_OTHER',
  307: 'TEMPORARY_REDIRECT',
  308: 'PERMANENT_REDIRECT',
}

const WELL_KNOWN_PORTS = { http: 80, https: 443 } as const

/**
 * Gateway API, HTTPRequestRedirectFilter.port: as written; else the well-known port of the scheme that is written;
 * else the listener's. Without scheme, hostname and port the client's own authority is kept: behind a port mapping
 * only the client knows the right port.
 */
function wantedPort(action: RedirectAction, context: RouteContext): number | undefined {
  if (action.port !== undefined) return action.port
  if (action.scheme !== undefined) return WELL_KNOWN_PORTS[action.scheme]
  return action.hostname === undefined ? undefined : context.port
}

/** A host name alone gives a Location without a port; Envoy takes the port of the request's Host when it keeps that. */
function authorityFields(action: RedirectAction, context: RouteContext): JsonObject {
  const port = wantedPort(action, context)
  const scheme = action.scheme ?? context.scheme
  const host = action.hostname ?? context.exactHost
  if (port !== WELL_KNOWN_PORTS[scheme]) {
    return jsonObject({ host_redirect: action.hostname, port_redirect: port })
  }
  return host === undefined ? { port_redirect: port } : { host_redirect: host }
}

const redirectPath = (action: RedirectAction, match: PathMatch): JsonObject =>
  action.path?.type === 'ReplaceFullPath'
    ? { path_redirect: action.path.value }
    : pathRewriteFields(action.path, match)

/** envoy.config.route.v3.RedirectAction */
export const buildRedirect = (
  action: RedirectAction,
  match: PathMatch,
  context: RouteContext,
): JsonObject => ({
  ...jsonObject({ scheme_redirect: action.scheme }),
  ...authorityFields(action, context),
  ...redirectPath(action, match),
  response_code: RESPONSE_CODES[action.statusCode],
})
