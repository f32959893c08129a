// Rules for the addresses to which neither Envoy (for a route) nor Gatehouse may connect (decisions 30 and 30a).

import { BlockList, isIP } from 'node:net'
import { addressBytes } from './address-bytes.js'
import { type AddressKind, kindsOfBytes } from './address-kind.js'
import { embeddedIpv4 } from './embedded-ipv4.js'

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
