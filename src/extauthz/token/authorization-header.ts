// Extracts the one bearer token from the values of the Authorization header (RFC 6750 section 2.1, decision 5).

/** What the Authorization headers of a request hold. */
export type BearerToken =
  | { readonly type: 'none' }
  /** Not yet parsed. */
  | { readonly type: 'token'; readonly token: string }
  /** Another scheme, several tokens, several headers, or too long. */
  | { readonly type: 'malformed' }

const MAX_LENGTH = 16 * 1024
/** RFC 6750 section 2.1: b64token. */
const TOKEN = /^[A-Za-z0-9._~+/=-]+$/
const BEARER = /^bearer +([A-Za-z0-9._~+/=-]+)$/i

const NONE: BearerToken = { type: 'none' }
const MALFORMED: BearerToken = { type: 'malformed' }

/** Spelling that nearly every client uses. */
const USUAL_PREFIX = 'Bearer '

/**
 * Returns what bearerToken() would return if the value is a valid bearer token, without checking that it is. This is
 * enough to look up a remembered token, since only tokens from bearerToken() are remembered. undefined: not of the
 * usual form.
 */
export function unreadToken(values: readonly string[]): string | undefined {
  const [value] = values
  if (value === undefined || values.length > 1 || value.length > MAX_LENGTH) return undefined
  return value.startsWith(USUAL_PREFIX) ? value.slice(USUAL_PREFIX.length) : undefined
}

/** Parses the one bearer token. values: of all Authorization headers, as sent. */
export function bearerToken(values: readonly string[]): BearerToken {
  const [value] = values
  if (value === undefined) return NONE
  if (values.length > 1 || value.length > MAX_LENGTH) return MALFORMED
  const usual = unreadToken(values)
  const token = usual !== undefined && TOKEN.test(usual) ? usual : BEARER.exec(value)?.[1]
  return token === undefined ? MALFORMED : { type: 'token', token }
}
