// Delays until the next fetch of a remote document (decisions 1 and 2), in milliseconds. chance: 0 to 1, for jitter.

const FIRST_RETRY_MS = 200
const MAX_RETRY_MS = 15_000
const REFRESH_MS = 5 * 60_000
const MIN_REFRESH_MS = 60_000

/**
 * Minimum time between extra fetches of a document: a little less than the second for which a request waits. A request
 * that arrives just after a fetch has begun can then await the next one.
 */
export const REFETCH_EVERY_MS = 900

/** Returns the delay after a number of consecutive failures, from 1: 200 ms doubling to 15 s, minus up to a fifth. */
export const retryDelay = (failures: number, chance: number): number =>
  Math.round(
    Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)) * (1 - chance / 5),
  )

/** How long a document may be used. */
export interface Freshness {
  /** Maximum age from the answer's Cache-Control. */
  readonly maxAgeMs?: number | undefined
  /** Age at which a document is no longer used; it must be renewed before. */
  readonly maxStaleMs?: number | undefined
}

/** Returns the delay after a success: at most 5 min and at least 60 s, plus up to a tenth. */
export function refreshDelay({ maxAgeMs, maxStaleMs }: Freshness, chance: number): number {
  const due = Math.min(REFRESH_MS, maxAgeMs ?? REFRESH_MS, (maxStaleMs ?? REFRESH_MS * 2) / 2)
  return Math.round(Math.max(MIN_REFRESH_MS, due) * (1 + chance / 10))
}

/** Returns the maximum age that Cache-Control allows (RFC 9111 section 5.2.2), or undefined if it has none. */
export function maxAgeOf(cacheControl: string | undefined): number | undefined {
  const directives = directivesOf(cacheControl)
  if (directives.some((one) => one === 'no-store' || one === 'no-cache')) return 0
  for (const directive of directives) {
    const [, seconds] = /^max-age="?(\d{1,10})"?$/.exec(directive) ?? []
    if (seconds !== undefined) return Number(seconds) * 1000
  }
  return undefined
}

/** Whether Cache-Control forbids to use an answer that is no longer fresh (RFC 9111 section 4.2.4). */
export const forbidsStale = (cacheControl: string | undefined): boolean =>
  directivesOf(cacheControl).some((one) => NEVER_STALE.has(one))

const NEVER_STALE: ReadonlySet<string> = new Set(['no-store', 'no-cache', 'must-revalidate'])

const directivesOf = (cacheControl: string | undefined): readonly string[] =>
  (cacheControl ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => one.trim())

/**
 * Returns how long an answer stays fresh (RFC 9111 section 4.2), or undefined if its headers do not say. now:
 * milliseconds since the epoch.
 */
export function freshnessOf(
  headers: Readonly<Record<string, string>>,
  now: number,
): number | undefined {
  const lifetime = maxAgeOf(headers['cache-control']) ?? lifetimeByExpires(headers, now)
  if (lifetime === undefined) return undefined
  const [age = '0'] = /^\d{1,10}/.exec(headers['age'] ?? '') ?? []
  return Math.max(0, lifetime - Number(age) * 1000)
}

/** A date that cannot be read is in the past (RFC 9111 section 5.3). */
function lifetimeByExpires(
  { expires, date }: Readonly<Record<string, string>>,
  now: number,
): number | undefined {
  return expires === undefined ? undefined : (timeOf(expires) ?? 0) - (timeOf(date ?? '') ?? now)
}

/** Returns the time of an HTTP date in its current form (RFC 9110 section 5.6.7). */
function timeOf(date: string): number | undefined {
  const time = HTTP_DATE.test(date) ? Date.parse(date) : NaN
  return Number.isNaN(time) ? undefined : time
}

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
