// How often something may be done, for each key: so many at once, and so many a second after that. No queue.

export interface Rates {
  /** Whether it may be done now; counted when it may. */
  take(key: string): boolean
}

export interface RateLimits {
  readonly perSecond: number
  /** At once, by a key that was quiet. */
  readonly burst: number
}

interface Bucket {
  /** What is left. */
  tokens: number
  /** Milliseconds. */
  at: number
}

/** Beyond so many keys at a time all further ones share a bucket. */
const MAX_KEYS = 1024
const OTHERS = ''

/** now: milliseconds. A key costs nothing once its bucket is full again. */
export function createRates({ perSecond, burst }: RateLimits, now: () => number): Rates {
  const buckets = new Map<string, Bucket>()

  const leftOf = ({ tokens, at }: Bucket): number =>
    Math.min(burst, tokens + (Math.max(0, now() - at) * perSecond) / 1000)

  const keyOf = (key: string): string => {
    if (buckets.has(key) || buckets.size < MAX_KEYS) return key
    for (const [other, bucket] of buckets) if (leftOf(bucket) >= burst) buckets.delete(other)
    return buckets.size < MAX_KEYS ? key : OTHERS
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
