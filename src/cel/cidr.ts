// Implements cidr("10.0.0.0/8").containsIP(address), for IPv4 and IPv6.

import { BlockList, isIP } from 'node:net'

/** Whether the text is an IP address. */
export const isIp = (text: string): boolean => isIP(text) !== 0

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** A network. */
export class Cidr {
  private readonly range = new BlockList()

  /** @throws when text is not ADDRESS/BITS. */
  constructor(text: string) {
    const [address = '', bits = '', ...rest] = text.split('/')
    if (!isIp(address) || !/^\d{1,3}$/.test(bits) || rest.length > 0) throw new Error('not a CIDR')
    this.range.addSubnet(address, Number(bits), family(address))
  }

  /** @throws when address is not an IP address. */
  contains(address: string): boolean {
    if (!isIp(address)) throw new Error('not an IP address')
    return this.range.check(address, family(address))
  }
}
