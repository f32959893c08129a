// Rejects weak RSA public keys by their numbers alone: size, exponent and the ROCA fingerprint.

const MIN_BITS = 2048
/** Maximum size of a modulus: larger ones cost too much to verify for an unauthenticated token. */
const MAX_BITS = 8192
const MAX_EXPONENT_BITS = 64

/**
 * Returns the weakness of a key for a person, or undefined. Both numbers are unsigned and big-endian. Sizes are checked
 * first: a number of a megabyte is never computed with.
 */
export function rsaFault(modulus: Uint8Array, exponent: Uint8Array): string | undefined {
  const bits = bitLength(modulus)
  if (bits < MIN_BITS) return `its modulus has ${bits} bits; at least ${MIN_BITS} are needed`
  if (bits > MAX_BITS) return `its modulus has ${bits} bits; at most ${MAX_BITS} are allowed`
  if (bitLength(exponent) > MAX_EXPONENT_BITS) return EXPONENT
  const [n, e] = [toNumber(modulus), toNumber(exponent)]
  if (n % 2n === 0n) return 'its modulus is even'
  if (e < 3n || e % 2n === 0n) return EXPONENT
  return hasRocaFingerprint(n)
    ? 'its modulus is of the guessable kind of CVE-2017-15361'
    : undefined
}

const EXPONENT = 'its exponent is not an odd number from 3 to 2^64'

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)

function bitLength(number: Uint8Array): number {
  const first = number.findIndex((byte) => byte !== 0)
  return first === -1 ? 0 : 8 * (number.length - first) - Math.clz32(number[first] ?? 0) + 24
}

const GENERATOR = 65537

function powersOfGenerator(prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power)
  return powers
}

const ROCA_PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157].map(
  (prime) => ({ prime: BigInt(prime), powers: powersOfGenerator(prime) }),
)

/** Keys of the faulty generator are powers of 65537 modulo each of these primes; others by chance, one in 2^28. */
const hasRocaFingerprint = (n: bigint): boolean =>
  ROCA_PRIMES.every(({ prime, powers }) => powers.has(Number(n % prime)))
