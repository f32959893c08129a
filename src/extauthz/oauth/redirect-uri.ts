// Checks what every registration demands of a redirect URI, at a relay and where the provider registers clients.

/** Schemes that a browser would execute or open in place of sending the user to a client. */
const NO_CLIENT = /^(?:javascript|data|vbscript|file|blob|about):/i

/** The host without a port, which differs from one login to the next (RFC 8252 section 7.3), and path and query. */
export const LOOPBACK_URI =
  /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?((?:[/?].*)?)$/

/**
 * Whether uri is absolute, without a fragment (RFC 6749 section 3.1.2) or user, visible ASCII, not executable, and in its
 * normal form. Any other scheme is good, as native clients use their own.
 */
export function isRedirectUri(uri: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:[\x21\x24-\x5b\x5d-\x7e]+$/.test(uri)) return false
  if (NO_CLIENT.test(uri) || !URL.canParse(uri)) return false
  const { href, username, password } = new URL(uri)
  return username === '' && password === '' && isNormal(uri, href)
}

/**
 * Whether a browser that is sent to the URI writes it as it is (WHATWG URL), so that what is checked, shown and visited is
 * one. Others say one host and mean another: https:/app.example/cb is relative to the page that it is on. On loopback
 * an empty path stays allowed, which clients that register a port alone have.
 */
const isNormal = (uri: string, href: string): boolean =>
  href === uri || (href === `${uri}/` && LOOPBACK_URI.test(uri))
