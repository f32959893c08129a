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

/** values: of every Authorization header, as sent. */
export function bearerToken(values: readonly string[]): BearerToken {
  const [value] = values
  if (value === undefined) return NONE
  if (values.length > 1 || value.length > MAX_LENGTH) return MALFORMED
  const token = BEARER.exec(value)?.[1]
  return token === undefined ? MALFORMED : { type: 'token', token }
}
