// A request as its client sends it, and its host and headers as Envoy changes them before it chooses a route.

import { RESERVED_HEADERS, RESERVED_PREFIX } from '../../../model/reserved-headers.js'

/** A request on its way to a listener. */
export interface ClientRequest {
  readonly method: string
  /** Scheme of the connection to the listener. */
  readonly scheme: 'http' | 'https'
  /** Host or :authority, with a port if the client sends one. */
  readonly authority: string
  /** Path and query as sent. */
  readonly target: string
  /** In the order sent; names in lower case. */
  readonly headers: readonly Field[]
}

/** Name in lower case and value of a header. */
export type Field = readonly [name: string, value: string]

/** Returns the authority without the trailing dot of its host, which Envoy strips. */
export function withoutHostDot(authority: string): string {
  const end = hostEnd(authority)
  return authority[end - 1] === '.' ? authority.slice(0, end - 1) + authority.slice(end) : authority
}

/** Returns the host in lower case, without a port: what virtual hosts are matched with. */
export const hostNameOf = (authority: string): string =>
  authority.slice(0, hostEnd(authority)).toLowerCase()

/** Index at which the port begins, with its colon; the length if there is none. */
function hostEnd(authority: string): number {
  const colon = authority.lastIndexOf(':')
  return colon < 0 || authority.includes(']', colon) ? authority.length : colon
}

/** Returns the headers without those that only Gatehouse or Envoy may set. */
export const withoutReserved = (headers: readonly Field[]): readonly Field[] =>
  headers.filter(([name]) => !name.startsWith(RESERVED_PREFIX) && !RESERVED_HEADERS.includes(name))
