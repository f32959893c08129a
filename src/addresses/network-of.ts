// The network that an IP address belongs to, as far as it can be told from the address: what one party is usually given whole.

import { isIP } from 'node:net'
import { ipv6Bytes } from './embedded-ipv4.js'

const MAPPED = '0,0,0,0,0,0,0,0,0,0,255,255'

/** IPv4: its 24 leading bits; IPv6: 48. "": no IP address. */
export function networkOf(address: string): string {
  const ip = address.split('%', 1)[0] ?? ''
  if (isIP(ip) === 4) return ip.split('.').slice(0, 3).join('.')
  const bytes = ipv6Bytes(ip)
  return bytes.slice(0, 12).join() === MAPPED
    ? bytes.slice(12, 15).join('.')
    : Buffer.from(bytes.slice(0, 6)).toString('hex')
}
