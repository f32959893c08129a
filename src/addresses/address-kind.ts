// The table of special-purpose IP addresses, and a function that classifies an address by it.

import { addressBytes, isWithin, networkOfText } from './address-bytes.js'
import { embeddedIpv4 } from './embedded-ipv4.js'

/** A class of addresses that has rules of its own. */
export type AddressKind =
  | 'loopback'
  | 'unspecified'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'broadcast'
  /** A private network or a reserved range: not a public service on the internet. */
  | 'private'
  /** Not an IP address. */
  | 'invalid'

const ADDRESSES: Readonly<Record<Exclude<AddressKind, 'invalid'>, readonly string[]>> = {
  // Linux treats every address of 0.0.0.0/8 as this host.
  unspecified: ['0.0.0.0/8', '::/128'],
  loopback: ['127.0.0.0/8', '::1/128'],
  // Alibaba Cloud, Azure WireServer, Oracle Cloud, AWS (including EKS Pod Identity), Google.
  metadata: [
    '100.100.100.200/32',
    '168.63.129.16/32',
    '192.0.0.192/32',
    'fd00:ec2::254/128',
    'fd00:ec2::23/128',
    'fd20:ce::254/128',
  ],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  broadcast: ['255.255.255.255/32'],
  // RFC 6890: private use, shared (carriers), protocol assignments, documentation, benchmarks, reserved; RFC 4193, RFC 3879, RFC 6666.
  private: [
    ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '192.0.0.0/24'],
    ...['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '198.18.0.0/15', '240.0.0.0/4'],
    ...['fc00::/7', 'fec0::/10', '100::/64', '2001:db8::/32'],
  ],
}

const lists = Object.entries(ADDRESSES).map(([kind, networks]) => ({
  kind: kind as AddressKind,
  networks: networks.map(networkOfText),
}))

/** Returns the kinds of an address; none for an ordinary one. ip: as returned by a resolver, perhaps with a zone. */
export function kindsOfAddress(ip: string): readonly AddressKind[] {
  const bytes = addressBytes(ip)
  return kindsOfBytes(bytes, embeddedIpv4(bytes))
}

/** Like kindsOfAddress(). embedded: the IPv4 addresses in it. */
export function kindsOfBytes(
  bytes: readonly number[],
  embedded: readonly (readonly number[])[],
): readonly AddressKind[] {
  if (bytes.length === 0) return ['invalid']
  const kinds: AddressKind[] = []
  addKinds(bytes, kinds)
  for (const inner of embedded) addKinds(inner, kinds)
  return kinds
}

function addKinds(bytes: readonly number[], kinds: AddressKind[]): void {
  for (const { kind, networks } of lists)
    for (const network of networks)
      if (isWithin(bytes, network)) {
        kinds.push(kind)
        break
      }
}
