// Reads and writes the cookies of a relay (RFC 6265): for the browser, for each login under way, and for consent.

import { RELAY_COOKIE } from '../../../model/names.js'

/** Adds the __Host- prefix on https: this host and TLS only. On plain http (loopback only), browsers reject it. */
const nameOf = (isSecure: boolean, name: string): string =>
  `${isSecure ? '__Host-' : ''}${RELAY_COOKIE}${name}`

/** A cookie of a relay. */
export interface Cookie {
  readonly name: string
  /** Value, in base64url. */
  readonly value: string
  /** Max-Age; 0 deletes the cookie. */
  readonly maxAgeSeconds: number
}

/** Returns a value for Set-Cookie. */
export const setCookie = (isSecure: boolean, { name, value, maxAgeSeconds }: Cookie): string =>
  [
    `${nameOf(isSecure, name)}=${value}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
  ].join('; ')

/** Returns a cookie from a Cookie header; undefined if it is absent, repeated or malformed. */
export function cookieValue(
  header: string | undefined,
  isSecure: boolean,
  name: string,
): string | undefined {
  const full = nameOf(isSecure, name)
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${full}=`))
    .map((part) => part.slice(full.length + 1))
  return values.length === 1 && /^[A-Za-z0-9_-]{1,4096}$/.test(values[0] ?? '')
    ? values[0]
    : undefined
}
