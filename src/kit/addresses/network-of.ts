// Groups IP addresses by the network that is usually assigned to one party.

import { isIP } from 'node:net'
import { addressBytes } from './address-bytes.js'

const MAPPED = '0,0,0,0,0,0,0,0,0,0,255,255'

/** Returns the first 24 bits of an IPv4 address or the first 48 of an IPv6 one; "" if it is not an IP address. */
export function networkOf(address: string): string {
  const ip = address.split('%', 1)[0] ?? ''
  if (isIP(ip) === 4) return ip.split('.').slice(0, 3).join('.')
  const bytes = addressBytes(ip)
  return bytes.slice(0, 12).join() === MAPPED
    ? bytes.slice(12, 15).join('.')
    : Buffer.from(bytes.slice(0, 6)).toString('hex')
}
