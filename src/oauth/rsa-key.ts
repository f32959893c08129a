// Rejects weak RSA public keys by their numbers alone: size, exponent and the ROCA fingerprint.

const MIN_BITS = 2048
/** Maximum size of a modulus: larger ones cost too much to verify for an unauthenticated token. */
const MAX_BITS = 8192
const MAX_EXPONENT_BITS = 64

/** Returns the weakness of a key for a person, or undefined. Both numbers are unsigned and big-endian. */
export function rsaFault(modulus: Uint8Array, exponent: Uint8Array): string | undefined {
  const [n, e] = [toNumber(modulus), toNumber(exponent)]
  const bits = bitLength(n)
  if (bits < MIN_BITS) return `its modulus has ${bits} bits; at least ${MIN_BITS} are needed`
  if (bits > MAX_BITS) return `its modulus has ${bits} bits; at most ${MAX_BITS} are allowed`
  if (n % 2n === 0n) return 'its modulus is even'
  if (e < 3n || e % 2n === 0n || bitLength(e) > MAX_EXPONENT_BITS)
    return 'its exponent is not an odd number from 3 to 2^64'
  return hasRocaFingerprint(n)
    ? 'its modulus is of the guessable kind of CVE-2017-15361'
    : undefined
}

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)

const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length)

const ROCA_PRIMES = [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151, 157]
const GENERATOR = 65537

/** Keys of the faulty generator are powers of 65537 modulo each of these primes; others by chance, one in 2^28. */
const hasRocaFingerprint = (n: bigint): boolean =>
  ROCA_PRIMES.every((prime) => powersOfGenerator(prime).has(Number(n % BigInt(prime))))

function powersOfGenerator(prime: number): ReadonlySet<number> {
  const powers = new Set<number>()
  for (let power = 1; !powers.has(power); power = (power * GENERATOR) % prime) powers.add(power)
  return powers
}
