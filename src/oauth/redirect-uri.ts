// Checks what every registration demands of a redirect URI, at a relay and where the provider registers clients.

/** Schemes that a browser would execute or open in place of sending the user to a client. */
const NO_CLIENT = /^(?:javascript|data|vbscript|file|blob|about):/i

/**
 * Whether uri is absolute, without a fragment (RFC 6749 section 3.1.2) or user, visible ASCII, and not executable. Any
 * other scheme is good, as native clients use their own.
 */
export function isRedirectUri(uri: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:[\x21\x24-\x5b\x5d-\x7e]+$/i.test(uri)) return false
  if (NO_CLIENT.test(uri) || !URL.canParse(uri)) return false
  const { username, password } = new URL(uri)
  return username === '' && password === ''
}
