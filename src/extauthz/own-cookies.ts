// Removes the cookies of a relay, which are for the gateway alone, from the Cookie that the backend gets. A
// browser sends them to every route of the relay's host.

import { RELAY_COOKIE } from '../model/names.js'
import { type CheckEnvelope, readCheckRequest } from './check-request.js'
import { encodeDecision } from './check-response.js'
import { HeaderNames } from './header-names.js'

const COOKIE = new HeaderNames(['cookie'])

/**
 * Answers the check of a route that no policy checks: any request passes, without the cookies of a relay. It is no
 * decision, and neither counted nor logged. @throws RangeError when the message is malformed.
 */
export function removeOwnCookies(envelope: CheckEnvelope): Uint8Array {
  const cookie = withoutOwnCookies(readCheckRequest(envelope, COOKIE).headers.get('cookie'))
  const allowed = { type: 'allow', reason: 'allowed' } as const
  return encodeDecision(cookie === undefined ? allowed : { ...allowed, cookie }, true)
}

/** header: value or values of Cookie. undefined: no cookie of a relay, so nothing changes; "": no other cookie. */
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
