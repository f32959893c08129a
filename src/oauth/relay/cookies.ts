// The cookies of a relay: one for the browser, one for each login under way, one for what was consented to (RFC 6265).

import { RELAY_COOKIE } from '../../ir/names.js'

/** On https: only this host, only over TLS. On plain http, which is loopback's alone, browsers take no such name. */
const nameOf = (isSecure: boolean, name: string): string =>
  `${isSecure ? '__Host-' : ''}${RELAY_COOKIE}${name}`

export interface Cookie {
  readonly name: string
  /** Base64url. */
  readonly value: string
  /** 0: the browser forgets it. */
  readonly maxAgeSeconds: number
}

/** A value of Set-Cookie. */
export const setCookie = (isSecure: boolean, { name, value, maxAgeSeconds }: Cookie): string =>
  [
    `${nameOf(isSecure, name)}=${value}`,
    'Path=/',
    `Max-Age=${maxAgeSeconds}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(isSecure ? ['Secure'] : []),
  ].join('; ')

/** header: of a request. undefined: it has no such cookie, or more than one. */
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
