// Rejects weak Ed25519 public keys by their bytes alone: under a point of small order, one signature can fit any
// message, and anybody can forge a token.

const P = 2n ** 255n - 19n
const SIGN_BIT = 2n ** 255n

/** y-coordinates of points whose order divides the cofactor, 8. Order 8: d y⁴ + 2 y² = 1 (RFC 8032 section 5.1). */
const ORDER_8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n
const SMALL_ORDER: ReadonlySet<bigint> = new Set([0n, 1n, P - 1n, ORDER_8, P - ORDER_8])

/** Returns the weakness of a key for a person, or undefined. bytes: 32, little-endian, the sign of x in the top bit. */
export function ed25519Fault(bytes: Uint8Array): string | undefined {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) % SIGN_BIT
  if (y >= P) return 'its "x" is not the one encoding of a point'
  return SMALL_ORDER.has(y) ? 'its point is of small order: anybody could sign' : undefined
}
