// Computes the Location header that Envoy derives from a route's RedirectAction.

import type { FilterChain, Listener, VirtualHost } from '../ir/ir.js'
import type { RedirectAction, Route } from '../ir/route.js'
import { hostNameOf } from '../routing/client-request.js'
import { pathOf, type RoutedRequest } from '../routing/match-route.js'
import { buildRedirect } from '../xds/translator/redirect.js'
import { routeContext } from '../xds/translator/route-context.js'

type EnvoyRedirect = ReturnType<typeof buildRedirect>

/** The redirect and where it was found. */
export interface RedirectPlace {
  readonly listener: Listener
  readonly chain: FilterChain
  readonly host: VirtualHost
  readonly route: Route
  readonly action: RedirectAction
}

/** Returns the URL that the client is sent to. scheme: of the request. */
export function redirectLocation(
  { listener, chain, host, route, action }: RedirectPlace,
  request: RoutedRequest,
  scheme: 'http' | 'https',
): string {
  const redirect = buildRedirect(action, route.match.path, routeContext(listener, chain, host))
  const { schemeRewriteSpecifier: rewritten, portRedirect } = redirect
  const newScheme = rewritten.case === 'schemeRedirect' ? rewritten.value : scheme
  const port = portRedirect === 0 ? '' : `:${String(portRedirect)}`
  const newHost =
    redirect.hostRedirect === ''
      ? keptHost(request.authority, { scheme, newScheme, hasPort: port !== '' })
      : redirect.hostRedirect
  return `${newScheme}://${newHost}${port}${newTarget(redirect, route, request)}`
}

/** Drops the port of the request's host if it is replaced, or if it is the default of a scheme that is replaced. */
function keptHost(
  authority: string,
  change: {
    readonly scheme: string
    readonly newScheme: string
    readonly hasPort: boolean
  },
): string {
  const port = authority.slice(hostNameOf(authority).length)
  const { scheme, newScheme, hasPort } = change
  const isOldDefault = scheme !== newScheme && port === (scheme === 'https' ? ':443' : ':80')
  return hasPort || isOldDefault ? authority.slice(0, authority.length - port.length) : authority
}

function newTarget(
  { pathRewriteSpecifier: rewrite }: EnvoyRedirect,
  { match }: Route,
  { target }: RoutedRequest,
): string {
  const path = pathOf(target)
  const query = target.slice(path.length)
  switch (rewrite.case) {
    case 'pathRedirect':
      return rewrite.value.includes('?') ? rewrite.value : rewrite.value + query
    case 'prefixRewrite':
      return rewrite.value + path.slice(match.path.value.length) + query
    case 'regexRewrite': {
      const { pattern, substitution } = rewrite.value
      const text = substitution.replaceAll('\\\\', '\\')
      return path.replace(new RegExp(pattern?.regex ?? '$^'), () => text) + query
    }
    default:
      return target
  }
}
