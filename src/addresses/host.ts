// The host that a backend names → the addresses that it is by itself, or a name to be resolved.

import { isIP } from 'node:net'

export type Host =
  | { readonly type: 'addresses'; readonly ips: readonly string[] }
  /** In lower case, without a dot at its end. */
  | { readonly type: 'name'; readonly name: string }
  /** A number that is no address: resolvers disagree about it. */
  | { readonly type: 'invalid' }

/** RFC 6761 section 6.3: these never go to a name server. */
const LOCALHOST = /^(.+\.)?localhost$/

/** A last label that is a number makes the whole an address, in one of the forms of inet_aton (127.1, 0x7f000001). */
const NUMERIC = /(^|\.)(\d+|0x[0-9a-f]*)$/

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

/** An IP address that everybody reads alike: a zone (fd00::1%eth0) means something on one host alone, and nothing to Envoy. */
export const isPlainAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes('%')
