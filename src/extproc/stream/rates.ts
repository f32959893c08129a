// How often something may be done, for each key: so many at once, and so many a second after that. No queue.

export interface Rates {
  /** Whether it may be done now; counted when it may. */
  take(key: string): boolean
}

export interface RateLimits {
  readonly perSecond: number
  /** At once, by a key that was quiet. */
  readonly burst: number
  /** Beyond so many keys at a time all further ones share a bucket. Absent: 1,024. */
  readonly maxKeys?: number
}

interface Bucket {
  /** What is left. */
  tokens: number
  /** Milliseconds. */
  at: number
}

const MAX_KEYS = 1024
const OTHERS = ''
/** How often a full table is searched for keys that cost nothing any more: a flood of new keys pays for one search a second. */
const SEARCH_MS = 1000

/** now: milliseconds. A key costs nothing once its bucket is full again. */
export function createRates(
  { perSecond, burst, maxKeys = MAX_KEYS }: RateLimits,
  now: () => number,
): Rates {
  const buckets = new Map<string, Bucket>()
  let searchedAt = -Infinity

  const leftOf = ({ tokens, at }: Bucket): number =>
    Math.min(burst, tokens + (Math.max(0, now() - at) * perSecond) / 1000)

  const keyOf = (key: string): string => {
    if (buckets.has(key) || buckets.size < maxKeys) return key
    if (now() - searchedAt < SEARCH_MS) return OTHERS
    searchedAt = now()
    for (const [other, bucket] of buckets) if (leftOf(bucket) >= burst) buckets.delete(other)
    return buckets.size < maxKeys ? key : OTHERS
  }

  return {
    take(key) {
      const own = keyOf(key)
      const bucket = buckets.get(own)
      const left = bucket === undefined ? burst : leftOf(bucket)
      if (left < 1) return false
      buckets.set(own, { tokens: left - 1, at: now() })
      return true
    },
  }
}
