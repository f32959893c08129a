// Rules for the addresses to which neither Envoy (for a route) nor Gatehouse may connect (decisions 30 and 30a).

import { BlockList, isIP } from 'node:net'
import { addressBytes, isWithin, networkOfText } from './address-bytes.js'

/** Decides which addresses may be connected to. */
export interface AddressRules {
  /** Returns why an address is forbidden, to follow "ADDRESS is "; undefined if it is allowed. */
  readonly refusalOf: (ip: string, port: number) => string | undefined
}

/** Rules whose two halves may be asked apart: what is wrong with an address, and whether its port is an exception. */
export interface SplitAddressRules extends AddressRules {
  /** Like refusalOf(), but without the operator's exceptions. */
  readonly concernOf: (ip: string) => Concern | undefined
  /** Whether the operator permits an address in spite of a concern. */
  readonly isPermitted: (concern: Concern, ip: string, port: number) => boolean
}

/** Why an address is forbidden unless the operator permits it. */
export interface Concern {
  /** To follow "ADDRESS is ". */
  readonly why: string
  /** Whether no exception is possible, as it is not an address. */
  readonly isFinal: boolean
}

/** An exception set by the operator. */
export interface AllowedAddress {
  readonly network: string
  /** Prefix length in bits. */
  readonly prefix: number
  /** Absent: every port. */
  readonly port?: number
}

/** The scope of the rules and its exceptions. */
export interface AddressRuleOptions {
  /**
   * What is forbidden. metadata: only link-local and cloud metadata addresses. host: also all that lead to this host.
   * public: also everything that is not on the public internet.
   */
  readonly scope: keyof typeof REFUSED
  /** The addresses of Gatehouse itself. */
  readonly own: ReadonlySet<string>
  readonly allowed: readonly AllowedAddress[]
}

const MEANING: Readonly<Record<AddressKind, string>> = {
  loopback: 'a loopback address',
  unspecified: 'an unspecified address',
  'link-local': 'a link-local address',
  metadata: 'a cloud metadata address',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  private: 'an address of a private or reserved network',
  invalid: 'not an IP address',
}

const HOST: readonly AddressKind[] = ['loopback', 'unspecified', 'multicast', 'broadcast']
const EVERYWHERE: readonly AddressKind[] = ['link-local', 'metadata', 'invalid']

const REFUSED = {
  metadata: new Set(EVERYWHERE),
  host: new Set([...EVERYWHERE, ...HOST]),
  public: new Set<AddressKind>([...EVERYWHERE, ...HOST, 'private']),
}

/** Creates rules from the options, which do not change later. */
export function createAddressRules({ scope, own, allowed }: AddressRuleOptions): SplitAddressRules {
  const ownAddresses = new Set([...own].map((ip) => addressBytes(ip).join()))
  ownAddresses.delete('')
  const exceptions = allowed.map(({ network, prefix, port }) => {
    const list = new BlockList()
    list.addSubnet(network, prefix, familyOf(network))
    return { list, port }
  })
  const concernOf = (ip: string): Concern | undefined => {
    const bytes = addressBytes(ip)
    const embedded = embeddedIpv4(bytes)
    const kinds = kindsOfBytes(bytes, embedded)
    if (kinds.includes('invalid')) return { why: MEANING.invalid, isFinal: true }
    const kind = kinds.find((each) => REFUSED[scope].has(each))
    if (kind !== undefined) return { why: MEANING[kind], isFinal: false }
    const isOwn =
      ownAddresses.has(bytes.join()) || embedded.some((inner) => ownAddresses.has(inner.join()))
    return isOwn ? { why: "an address of Gatehouse's own", isFinal: false } : undefined
  }
  const isPermitted = ({ isFinal }: Concern, ip: string, port: number): boolean => {
    if (isFinal) return false
    const address = ip.split('%', 1)[0] ?? ''
    return exceptions.some(
      ({ list, port: only }) => (only ?? port) === port && list.check(address, familyOf(address)),
    )
  }
  return {
    concernOf,
    isPermitted,
    refusalOf: (ip, port) => {
      const concern = concernOf(ip)
      return concern === undefined || isPermitted(concern, ip, port) ? undefined : concern.why
    },
  }
}

const familyOf = (ip: string): 'ipv4' | 'ipv6' => (isIP(ip) === 6 ? 'ipv6' : 'ipv4')

// The table of special-purpose IP addresses, and a function that classifies an address by it.

/** A class of addresses that has rules of its own. */
type AddressKind =
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
  // What IANA's registries of special-purpose addresses (RFC 6890) have beside: private use, documentation, benchmarks, what
  // is reserved, and addresses of protocols, at which no web server is, though some are reachable from everywhere (AS112,
  // AMT, PCP, TURN). 64:ff9b::/96 is not here: it stands for the IPv4 address in it. fec0::/10 is RFC 3879's.
  private: [
    '10.0.0.0/8',
    '172.16.0.0/12',
    '192.168.0.0/16',
    '100.64.0.0/10',
    '192.0.0.0/24',
    '192.0.2.0/24',
    '198.51.100.0/24',
    '203.0.113.0/24',
    '198.18.0.0/15',
    '240.0.0.0/4',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.88.99.0/24',
    '192.175.48.0/24',
    'fc00::/7',
    'fec0::/10',
    '::ffff:0:0/96',
    '64:ff9b:1::/48',
    '100::/64',
    '100:0:0:1::/64',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
    '2620:4f:8000::/48',
    '3fff::/20',
    '5f00::/16',
  ],
}

const lists = Object.entries(ADDRESSES).map(([kind, networks]) => ({
  kind: kind as AddressKind,
  networks: networks.map(networkOfText),
}))

/** Returns the kinds of an address; none for an ordinary one. embedded: the IPv4 addresses in it. */
function kindsOfBytes(
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

// Extracts IPv4 addresses from IPv6 ones: mapped, compatible, translated (NAT64), tunnelled (6to4, Teredo, ISATAP).

interface Embedding {
  /** The bytes of the address from `start` (default 0). */
  readonly prefix: readonly number[]
  readonly start?: number
  /** Positions of the four bytes of the IPv4 address. */
  readonly at: readonly [number, number, number, number]
  /** Whether the bits are inverted, as Teredo does for the client's address. */
  readonly isInverted?: boolean
  /** Whether the prefix has several layouts: an address in 0.0.0.0/8 then means that another one is used. */
  readonly isOneOfSeveral?: boolean
}

const ZEROS = [0, 0, 0, 0, 0, 0, 0, 0]
const LAST = [12, 13, 14, 15] as const
const NAT64 = [0, 0x64, 0xff, 0x9b]
const LOCAL_NAT64 = [...NAT64, 0, 1]
const TEREDO = [0x20, 0x01, 0, 0]

const EMBEDDINGS: readonly Embedding[] = [
  // ::a.b.c.d (compatible), ::ffff:a.b.c.d (mapped), ::ffff:0:a.b.c.d (RFC 2765)
  { prefix: [...ZEROS, 0, 0, 0, 0], at: LAST },
  { prefix: [...ZEROS, 0, 0, 0xff, 0xff], at: LAST },
  { prefix: [...ZEROS, 0xff, 0xff, 0, 0], at: LAST },
  // 64:ff9b::/96 (RFC 6052)
  { prefix: [...NAT64, 0, 0, 0, 0, 0, 0, 0, 0], at: LAST },
  // 64:ff9b:1::/48 (RFC 8215), in which networks choose prefixes of 48, 56, 64 and 96 bits
  { prefix: LOCAL_NAT64, at: [6, 7, 9, 10], isOneOfSeveral: true },
  { prefix: LOCAL_NAT64, at: [7, 9, 10, 11], isOneOfSeveral: true },
  { prefix: LOCAL_NAT64, at: [9, 10, 11, 12], isOneOfSeveral: true },
  { prefix: LOCAL_NAT64, at: LAST, isOneOfSeveral: true },
  // 2002::/16 (6to4, RFC 3056)
  { prefix: [0x20, 0x02], at: [2, 3, 4, 5] },
  // 2001::/32 (Teredo, RFC 4380): the server's address and the client's
  { prefix: TEREDO, at: [4, 5, 6, 7] },
  { prefix: TEREDO, at: LAST, isInverted: true },
  // ISATAP (RFC 5214): an interface identifier below any prefix
  { prefix: [0, 0, 0x5e, 0xfe], start: 8, at: LAST },
  { prefix: [2, 0, 0x5e, 0xfe], start: 8, at: LAST },
]

const NONE: readonly (readonly number[])[] = []

/** Returns every IPv4 address that an IPv6 address may represent, both as bytes; none for an IPv4 address. */
function embeddedIpv4(bytes: readonly number[]): readonly (readonly number[])[] {
  if (bytes.length !== 16) return NONE
  const found: (readonly number[])[] = []
  for (const { prefix, start = 0, at, isInverted, isOneOfSeveral } of EMBEDDINGS) {
    if (!prefix.every((byte, i) => bytes[start + i] === byte)) continue
    const four = at.map((index) => (bytes[index] ?? 0) ^ (isInverted === true ? 0xff : 0))
    if (isOneOfSeveral !== true || four[0] !== 0) found.push(four)
  }
  return found
}
