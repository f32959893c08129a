// An IP address → whether our own calls may go there (decision 30): never to link-local or cloud metadata addresses.

import { BlockList, isIP, isIPv6 } from 'node:net'

const forbidden = new BlockList()
forbidden.addSubnet('169.254.0.0', 16, 'ipv4')
forbidden.addAddress('100.100.100.200', 'ipv4')
forbidden.addSubnet('fe80::', 10, 'ipv6')
forbidden.addAddress('fd00:ec2::254', 'ipv6')

/** Prefixes whose addresses carry an IPv4 address, and the byte at which it stands. */
const EMBEDDINGS: readonly { prefix: readonly number[]; at: number }[] = [
  // ::a.b.c.d (compatible) and ::ffff:a.b.c.d (mapped)
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], at: 12 },
  // ::ffff:0:a.b.c.d (RFC 2765)
  { prefix: [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0], at: 12 },
  // 64:ff9b::/96 (RFC 6052) and 64:ff9b:1::/48 (RFC 8215)
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0], at: 12 },
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 1], at: 12 },
  // 2002::/16 (RFC 3056)
  { prefix: [0x20, 0x02], at: 2 },
]

/** ip: as a resolver gives it. What is not an IP address at all is forbidden too. */
export const isForbiddenAddress = (ip: string): boolean => {
  const address = ip.split('%', 1)[0] ?? ''
  switch (isIP(address)) {
    case 4:
      return forbidden.check(address, 'ipv4')
    case 6:
      return (
        forbidden.check(address, 'ipv6') ||
        embeddedIpv4(address).some((inner) => forbidden.check(inner, 'ipv4'))
      )
    default:
      return true
  }
}

const embeddedIpv4 = (address: string): string[] => {
  const bytes = ipv6Bytes(address)
  return EMBEDDINGS.filter(({ prefix }) => prefix.every((byte, i) => bytes[i] === byte)).map(
    ({ at }) => bytes.slice(at, at + 4).join('.'),
  )
}

/** The 16 bytes of a valid IPv6 address. */
const ipv6Bytes = (address: string): number[] => {
  if (!isIPv6(address)) return []
  // URL writes every form in hexadecimal groups, a dotted tail included.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = '', tail] = canonical.split('::')
  const left = groups(head)
  const right = tail === undefined ? [] : groups(tail)
  const zeros = new Array<number>(8 - left.length - right.length).fill(0)
  return [...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff])
}

const groups = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((group) => parseInt(group, 16))
