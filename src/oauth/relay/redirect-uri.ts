// Checks redirect URIs: each must equal a registered one and match a pattern that the operator allows.

const MAX_LENGTH = 1024

/** Separates the host from the port, which differs from one login to the next (RFC 8252 section 7.3). */
const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?((?:[/?].*)?)$/i

/** Whether a URI is on loopback, where any local program can pretend to be the client. */
export const isLoopbackUri = (uri: string): boolean => LOOPBACK.test(uri)

/** Whether uri is absolute, without a fragment (RFC 6749 section 3.1.2) or user, visible ASCII, and not executable. */
export function isRedirectUri(uri: string): boolean {
  if (uri.length > MAX_LENGTH || !/^[a-z][a-z0-9+.-]*:[\x21\x24-\x5b\x5d-\x7e]+$/i.test(uri))
    return false
  if (/^(?:javascript|data|vbscript|file|blob|about):/i.test(uri) || !URL.canParse(uri))
    return false
  const { protocol, username, password } = new URL(uri)
  return username === '' && password === '' && (protocol !== 'http:' || isLoopbackUri(uri))
}

/** Whether uri equals a registered one; loopback addresses may differ in their port. */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true
  const own = LOOPBACK.exec(uri)
  if (own === null) return false
  return registered.some((one) => {
    const other = LOOPBACK.exec(one)
    return other !== null && other[1] === own[1] && other[2] === own[2]
  })
}

/** Whether uri matches a pattern of Relay.redirectUris. It must have passed isRedirectUri(). */
export const isPermitted = (uri: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) =>
    pattern === 'loopback' ? isLoopbackUri(uri) : fits(new URL(uri), pattern),
  )

function fits(uri: URL, pattern: string): boolean {
  if (!URL.canParse(pattern)) return false
  const isPrefix = pattern.endsWith('/*')
  const { protocol, host, pathname } = new URL(isPrefix ? pattern.slice(0, -1) : pattern)
  if (protocol !== uri.protocol || host !== uri.host) return false
  return isPrefix ? uri.pathname.startsWith(pathname) : uri.pathname === pathname
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
