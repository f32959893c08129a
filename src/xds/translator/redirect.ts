// Builds Envoy's RedirectAction, with the port in Location as the Gateway API defines it.

import { create } from '@bufbuild/protobuf'
import type { PathMatch, RedirectAction } from '../../model/route.js'
import {
  type RedirectAction as EnvoyRedirect,
  RedirectAction_RedirectResponseCode as ResponseCode,
  RedirectActionSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import type { FieldsOf } from './messages.js'
import { pathRewrite } from './path-rewrite.js'
import type { RouteContext } from './route-context.js'

type RedirectFields = FieldsOf<typeof RedirectActionSchema>

const RESPONSE_CODES: Readonly<Record<RedirectAction['statusCode'], ResponseCode>> = {
  301: ResponseCode.MOVED_PERMANENTLY,
  302: ResponseCode.FOUND,
  303: ResponseCode.SEE_OTHER,
  307: ResponseCode.TEMPORARY_REDIRECT,
  308: ResponseCode.PERMANENT_REDIRECT,
}

const WELL_KNOWN_PORTS = { http: 80, https: 443 } as const

/**
 * Returns the port by HTTPRequestRedirectFilter.port of the Gateway API: the specified one, else the well-known port of
 * the specified scheme, else the listener's. Without scheme, hostname and port the client's authority is kept: behind a
 * port mapping only the client knows the right port.
 */
function wantedPort(action: RedirectAction, context: RouteContext): number | undefined {
  if (action.port !== undefined) return action.port
  if (action.scheme !== undefined) return WELL_KNOWN_PORTS[action.scheme]
  return action.hostname === undefined ? undefined : context.port
}

/** Returns host and port. A host name alone gives a Location without a port; a kept Host keeps the request's port. */
function authorityFields(action: RedirectAction, context: RouteContext): RedirectFields {
  const port = wantedPort(action, context)
  const scheme = action.scheme ?? context.scheme
  const host = action.hostname ?? context.exactHost
  if (port !== WELL_KNOWN_PORTS[scheme])
    return { hostRedirect: action.hostname, portRedirect: port }
  return host === undefined ? { portRedirect: port } : { hostRedirect: host }
}

const redirectPath = (
  { path }: RedirectAction,
  match: PathMatch,
): RedirectFields['pathRewriteSpecifier'] =>
  path?.type === 'ReplaceFullPath'
    ? { case: 'pathRedirect', value: path.value }
    : pathRewrite(path, match)

/** envoy.config.route.v3.RedirectAction */
export const buildRedirect = (
  action: RedirectAction,
  match: PathMatch,
  context: RouteContext,
): EnvoyRedirect =>
  create(RedirectActionSchema, {
    schemeRewriteSpecifier:
      action.scheme === undefined ? undefined : { case: 'schemeRedirect', value: action.scheme },
    ...authorityFields(action, context),
    pathRewriteSpecifier: redirectPath(action, match),
    responseCode: RESPONSE_CODES[action.statusCode],
  })
