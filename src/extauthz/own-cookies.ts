// The cookies of a relay are for the gateway alone: a request's Cookie without them, for the backend.

import { RELAY_COOKIE } from '../ir/names.js'

/** undefined: there is none of ours, and nothing is changed; "": there is no other. header: value or values of Cookie. */
export function withoutOwnCookies(
  header: string | readonly string[] | undefined,
): string | undefined {
  // HTTP/2 may carry them in several fields (RFC 9113 section 8.2.3).
  const text = header === undefined || typeof header === 'string' ? header : header.join('; ')
  if (text?.includes(RELAY_COOKIE) !== true) return undefined
  return text
    .split(';')
    .map((cookie) => cookie.trim())
    .filter((cookie) => !isOwn(cookie))
    .join('; ')
}

const isOwn = (cookie: string): boolean =>
  cookie.startsWith(RELAY_COOKIE) || cookie.startsWith(`__Host-${RELAY_COOKIE}`)
