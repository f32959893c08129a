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
export function embeddedIpv4(bytes: readonly number[]): readonly (readonly number[])[] {
  if (bytes.length !== 16) return NONE
  const found: (readonly number[])[] = []
  for (const { prefix, start = 0, at, isInverted, isOneOfSeveral } of EMBEDDINGS) {
    if (!prefix.every((byte, i) => bytes[start + i] === byte)) continue
    const four = at.map((index) => (bytes[index] ?? 0) ^ (isInverted === true ? 0xff : 0))
    if (isOneOfSeveral !== true || four[0] !== 0) found.push(four)
  }
  return found
}
