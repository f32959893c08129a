// The one table of IP addresses that lead elsewhere than to another host's service: an address → which of these it is.

import { BlockList, isIP } from 'node:net'
import { embeddedIpv4 } from './embedded-ipv4.js'

export type AddressKind =
  | 'loopback'
  | 'unspecified'
  | 'link-local'
  | 'metadata'
  | 'multicast'
  | 'broadcast'
  /** No IP address at all. */
  | 'invalid'

const ADDRESSES: Readonly<Record<Exclude<AddressKind, 'invalid'>, readonly string[]>> = {
  // Every address of 0.0.0.0/8 is this host to Linux.
  unspecified: ['0.0.0.0/8', '::/128'],
  loopback: ['127.0.0.0/8', '::1/128'],
  // Alibaba Cloud, Azure's wire server, Oracle Cloud, AWS (and the identities of EKS's pods), Google.
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
}

const lists = Object.entries(ADDRESSES).map(([kind, subnets]) => {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/')
    list.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4')
  }
  return { kind: kind as AddressKind, list }
})

/** Empty: an address that a service may have. ip: as a resolver gives it, perhaps with a zone. */
export function kindsOfAddress(ip: string): readonly AddressKind[] {
  const address = ip.split('%', 1)[0] ?? ''
  switch (isIP(address)) {
    case 4:
      return listed(address, 'ipv4')
    case 6:
      return [
        ...listed(address, 'ipv6'),
        ...embeddedIpv4(address).flatMap((inner) => listed(inner, 'ipv4')),
      ]
    default:
      return ['invalid']
  }
}

const listed = (address: string, family: 'ipv4' | 'ipv6'): readonly AddressKind[] =>
  lists.filter(({ list }) => list.check(address, family)).map(({ kind }) => kind)
