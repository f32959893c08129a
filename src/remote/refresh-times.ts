// When the next fetch of a remote document is due (decisions 1 and 2), in milliseconds. chance: 0 to 1, so that replicas spread.

const FIRST_RETRY_MS = 200
const MAX_RETRY_MS = 15_000
const REFRESH_MS = 5 * 60_000
const MIN_REFRESH_MS = 60_000

/**
 * At most one extra fetch per document in this time: a little less than the second that a request waits for one, so that
 * a request that came just after one had begun sees the end of the next.
 */
export const REFETCH_EVERY_MS = 900

/** failures: in a row, from 1. 200 ms doubling to 15 s, less up to a fifth. */
export const retryDelay = (failures: number, chance: number): number =>
  Math.round(
    Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)) * (1 - chance / 5),
  )

export interface Freshness {
  /** Of the answer's Cache-Control. */
  readonly maxAgeMs?: number | undefined
  /** A document must be renewed before it is this old. */
  readonly maxStaleMs?: number | undefined
}

/** Every 5 min or sooner, never more often than every 60 s, plus up to a tenth. */
export function refreshDelay({ maxAgeMs, maxStaleMs }: Freshness, chance: number): number {
  const due = Math.min(REFRESH_MS, maxAgeMs ?? REFRESH_MS, (maxStaleMs ?? REFRESH_MS * 2) / 2)
  return Math.round(Math.max(MIN_REFRESH_MS, due) * (1 + chance / 10))
}

/** RFC 9111 section 5.2.2; undefined: the header says nothing of an age. */
export function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const directives = (cacheControl ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => one.trim())
  if (directives.some((one) => one === 'no-store' || one === 'no-cache')) return 0
  for (const directive of directives) {
    const [, seconds] = /^max-age="?(\d{1,10})"?$/.exec(directive) ?? []
    if (seconds !== undefined) return Number(seconds) * 1000
  }
  return undefined
}
