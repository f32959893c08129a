// Reads the host of a backend: literal addresses, or a name to be resolved.

import { isIP } from 'node:net'

/** The host of a URL or an endpoint. */
export type Host =
  | { readonly type: 'addresses'; readonly ips: readonly string[] }
  /** Lower case, without a trailing dot. */
  | { readonly type: 'name'; readonly name: string }
  /** A number that is not an address, which resolvers interpret differently. */
  | { readonly type: 'invalid' }

/** Names that must not be sent to a name server (RFC 6761 section 6.3). */
const LOCALHOST = /^(.+\.)?localhost$/

/** A name whose last label is a number, and so an address in a form of inet_aton (127.1, 0x7f000001). */
const NUMERIC = /(^|\.)(\d+|0x[0-9a-f]*)$/

/** Reads a host without brackets: an IP address, a name, or a number that resolvers may take for an address. */
export function readHost(text: string): Host {
  if (isIP(text) !== 0) return { type: 'addresses', ips: [text] }
  const name = text.toLowerCase().replace(/\.$/, '')
  if (LOCALHOST.test(name)) return { type: 'addresses', ips: ['127.0.0.1', '::1'] }
  if (!NUMERIC.test(name)) return { type: 'name', name }
  const url = URL.canParse(`http://${name}`) ? new URL(`http://${name}`) : undefined
  return url !== undefined && isIP(url.hostname) === 4
    ? { type: 'addresses', ips: [url.hostname] }
    : { type: 'invalid' }
}

/** Whether text is an IP address without a zone (fd00::1%eth0), which has a meaning on one host only, not to Envoy. */
export const isPlainAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')
