// The values of the Authorization header → the one bearer token in them (RFC 6750 section 2.1, decision 5).

export type BearerToken =
  | { readonly type: 'none' }
  /** Not yet looked into. */
  | { readonly type: 'token'; readonly token: string }
  /** Another scheme, several tokens, several headers, or too long. */
  | { readonly type: 'malformed' }

const MAX_LENGTH = 16 * 1024
const BEARER = /^bearer +([A-Za-z0-9._~+/=-]+)$/i

const NONE: BearerToken = { type: 'none' }
const MALFORMED: BearerToken = { type: 'malformed' }

/** As nearly every client writes it. */
const USUAL_PREFIX = 'Bearer '

/**
 * What bearerToken() would give if the value is a bearer token at all: enough to look for one that was remembered, as
 * only those are that bearerToken() has given. undefined: not of the usual form.
 */
export function unreadToken(values: readonly string[]): string | undefined {
  const [value] = values
  if (value === undefined || values.length > 1 || value.length > MAX_LENGTH) return undefined
  return value.startsWith(USUAL_PREFIX) ? value.slice(USUAL_PREFIX.length) : undefined
}

/** values: of every Authorization header, as sent. */
export function bearerToken(values: readonly string[]): BearerToken {
  const [value] = values
  if (value === undefined) return NONE
  if (values.length > 1 || value.length > MAX_LENGTH) return MALFORMED
  const token = BEARER.exec(value)?.[1]
  return token === undefined ? MALFORMED : { type: 'token', token }
}
