// Token buckets by key: a burst at once, then a fixed rate per second. No queue.

/** Token buckets by key. */
export interface Rates {
  /** Whether it may be done now; counts it if so. */
  take(key: string): boolean
}

/** The rate and the burst of each bucket. */
export interface RateLimits {
  readonly perSecond: number
  /** Maximum at once, for a key that was idle. */
  readonly burst: number
  /** Maximum number of keys with a bucket of their own; further ones share a bucket. Absent: 1,024. */
  readonly maxKeys?: number
}

interface Bucket {
  /** Tokens left at the time of the last use. */
  tokens: number
  /** Time of the last use, in milliseconds. */
  at: number
}

const MAX_KEYS = 1024
const OTHERS = ''
/**
 * Minimum time between searches of a full table for keys that can be removed: a flood of new keys costs one search a
 * second.
 */
const SEARCH_MS = 1000

/** now: milliseconds. onFull: called for each refusal. Keys whose bucket is full again are removed when the table is full. */
export function createRates(
  { perSecond, burst, maxKeys = MAX_KEYS }: RateLimits,
  now: () => number,
  onFull = (): void => undefined,
): Rates {
  const buckets = new Map<string, Bucket>()
  let searchedAt = -Infinity

  const leftOf = ({ tokens, at }: Bucket): number =>
    Math.min(burst, tokens + (Math.max(0, now() - at) * perSecond) / 1000)

  const bucketKey = (key: string): string => {
    if (buckets.has(key) || buckets.size < maxKeys) return key
    if (now() - searchedAt < SEARCH_MS) return OTHERS
    searchedAt = now()
    for (const [other, bucket] of buckets) if (leftOf(bucket) >= burst) buckets.delete(other)
    return buckets.size < maxKeys ? key : OTHERS
  }

  return {
    take(key) {
      const own = bucketKey(key)
      const bucket = buckets.get(own)
      const left = bucket === undefined ? burst : leftOf(bucket)
      if (left < 1) {
        onFull()
        return false
      }
      buckets.set(own, { tokens: left - 1, at: now() })
      return true
    },
  }
}
