// Compares URIs as RFC 3986 does, for those that clients write in their own way.

/** An absolute URI with a host and without a fragment, in visible ASCII: of others, the URL parser makes something else. */
const WITH_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\][^#\\]*$/i

/**
 * Whether two texts are one URI after syntax-based and scheme-based normalization (RFC 3986 sections 6.2.2 and 6.2.3): case of
 * scheme, host and escapes, escapes of unreserved characters, dot segments, the default port, and an empty path for "/".
 */
export function isSameUri(one: string, other: string): boolean {
  const normal = normalUri(one)
  return normal !== undefined && normal === normalUri(other)
}

function normalUri(uri: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(uri) || !WITH_HOST.test(uri)) return undefined
  const plain = uri.replace(/%[0-9a-f]{2}/gi, normalEscape)
  return URL.canParse(plain) ? new URL(plain).href : undefined
}

/** Decodes the escape of an unreserved character (section 2.3), and writes others in upper case. */
function normalEscape(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
  return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase()
}
