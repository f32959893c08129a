// Checks redirect URIs: each must equal a registered one and match a pattern that the operator allows.

import { isRedirectUri, LOOPBACK_URI } from '../../../extauthz/oauth/redirect-uri.js'

const MAX_LENGTH = 1024

/** Whether a URI is on loopback, where any local program can pretend to be the client. */
export const isLoopbackUri = (uri: string): boolean => LOOPBACK_URI.test(uri)

/** Whether a client of a relay may have this redirect URI: plain http is for loopback only. */
export const isRelayRedirectUri = (uri: string): boolean =>
  uri.length <= MAX_LENGTH && isRedirectUri(uri) && (!/^http:/.test(uri) || isLoopbackUri(uri))

/** Whether uri equals a registered one; loopback addresses may differ in their port. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true
  const own = LOOPBACK_URI.exec(uri)
  if (own === null) return false
  return registered.some((one) => {
    const other = LOOPBACK_URI.exec(one)
    return other !== null && other[1] === own[1] && other[2] === own[2]
  })
}

/** Whether uri matches a pattern of Relay.redirectUris. It must have passed isRelayRedirectUri(). */
export const isPermitted = (uri: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => (pattern === 'loopback' ? isLoopbackUri(uri) : fits(uri, pattern)))

/** Whether a redirect URI of an earlier login is still good. The patterns may have been narrowed since. */
export const isStillPermitted = (uri: string, patterns: readonly string[]): boolean =>
  isRelayRedirectUri(uri) && isPermitted(uri, patterns)

/** Whether a client with these redirect URIs may log in at one of them; on loopback at some port. */
export const isAnyPermitted = (
  registered: readonly string[],
  patterns: readonly string[],
): boolean =>
  patterns.some((pattern) =>
    registered.some((uri) => isStillPermitted(atPortOf(pattern, uri), [pattern])),
  )

/** Gives a loopback URI the port of a pattern, as its client may choose any. */
function atPortOf(pattern: string, uri: string): string {
  if (!isLoopbackUri(uri) || !isLoopbackUri(pattern) || !URL.canParse(pattern)) return uri
  const url = new URL(uri)
  url.port = new URL(pattern).port
  return url.href
}

/**
 * Matches what some servers read as "/", "\\", ".." or an escape of these, and URL does not: anybody may register a
 * path below a pattern, and it must not lead out of there.
 */
const LEADS_OUT = /%(?:25|2e|2f|5c)|\/\.\.?;/i

function fits(uri: string, pattern: string): boolean {
  if (!URL.canParse(pattern)) return false
  const url = new URL(uri)
  if (!pattern.endsWith('/*')) return url.href === new URL(pattern).href
  const { protocol, host, pathname } = url
  const below = new URL(pattern.slice(0, -1))
  return (
    protocol === below.protocol &&
    host === below.host &&
    pathname.startsWith(below.pathname) &&
    !LEADS_OUT.test(pathname)
  )
}

/** Adds parameters to the query of a URI. */
export function withParameters(
  uri: string,
  parameters: Iterable<[name: string, value: string]>,
): string {
  const query = new URLSearchParams(parameters).toString()
  if (!uri.includes('?')) return `${uri}?${query}`
  return /[?&]$/.test(uri) ? uri + query : `${uri}&${query}`
}

/** Returns the host, or the scheme if there is none, to be shown to a person. */
export function hostOf(uri: string): string {
  const { host, protocol } = new URL(uri)
  return host === '' ? protocol : host
}
