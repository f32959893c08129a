// Reads IP addresses as bytes, and compares them with networks. A Service can have tens of thousands of addresses, each of
// which is compared with every network of a table.

import { isIP } from 'node:net'

/** Returns the 4 or 16 bytes of an IP address, without its zone; else an empty list. */
export function addressBytes(text: string): readonly number[] {
  const percent = text.indexOf('%')
  const address = percent === -1 ? text : text.slice(0, percent)
  const family = isIP(address)
  if (family === 0) return NONE
  return family === 4 ? address.split('.').map(Number) : ipv6Bytes(address)
}

const NONE: readonly number[] = []

function ipv6Bytes(address: string): readonly number[] {
  const gap = address.indexOf('::')
  if (gap === -1) return groups(address)
  const [left, right] = [groups(address.slice(0, gap)), groups(address.slice(gap + 2))]
  return [...left, ...new Array<number>(16 - left.length - right.length).fill(0), ...right]
}

/** Reads groups, of which the last may be an IPv4 address. */
const groups = (text: string): readonly number[] =>
  text === ''
    ? NONE
    : text.split(':').flatMap((group) => {
        if (group.includes('.')) return group.split('.').map(Number)
        const number = parseInt(group, 16)
        return [number >> 8, number & 0xff]
      })

/** The addresses that begin with the same bits. */
export interface Network {
  readonly bytes: readonly number[]
  /** Length of the prefix in bits. */
  readonly prefix: number
}

/** text: ADDRESS/BITS. */
export function networkOfText(text: string): Network {
  const [address = '', prefix] = text.split('/')
  return { bytes: addressBytes(address), prefix: Number(prefix) }
}

/** Whether an address is in a network of its family. */
export function isWithin(address: readonly number[], { bytes, prefix }: Network): boolean {
  if (address.length !== bytes.length) return false
  const whole = prefix >> 3
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false
  const rest = prefix & 7
  return rest === 0 || ((address[whole] ?? 0) ^ (bytes[whole] ?? 0)) >> (8 - rest) === 0
}
