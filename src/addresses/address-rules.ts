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
export function createAddressRules({ scope, own, allowed }: AddressRuleOptions): AddressRules {
  const ownAddresses = new Set([...own].map((ip) => addressBytes(ip).join()))
  ownAddresses.delete('')
  const exceptions = allowed.map(({ network, prefix, port }) => {
    const list = new BlockList()
    list.addSubnet(network, prefix, familyOf(network))
    return { list, port }
  })
  const isException = (ip: string, port: number): boolean => {
    const address = ip.split('%', 1)[0] ?? ''
    return exceptions.some(
      ({ list, port: only }) => (only ?? port) === port && list.check(address, familyOf(address)),
    )
  }
  return {
    refusalOf: (ip, port) => {
      const bytes = addressBytes(ip)
      const embedded = embeddedIpv4(bytes)
      const kinds = kindsOfBytes(bytes, embedded)
      if (kinds.includes('invalid')) return MEANING.invalid
      if (isException(ip, port)) return undefined
      const kind = kinds.find((each) => REFUSED[scope].has(each))
      if (kind !== undefined) return MEANING[kind]
      const isOwn =
        ownAddresses.has(bytes.join()) || embedded.some((inner) => ownAddresses.has(inner.join()))
      return isOwn ? "an address of Gatehouse's own" : undefined
    },
  }
}

const familyOf = (ip: string): 'ipv4' | 'ipv6' => (isIP(ip) === 6 ? 'ipv6' : 'ipv4')
