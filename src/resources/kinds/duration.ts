// Parses Gateway API durations (GEP-2257) into milliseconds.

const MILLISECONDS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** Returns the duration in milliseconds. The text must match GEP-2257's pattern, e.g. "1h30m" or "500ms". */
export const parseDuration = (text: string): number =>
  [...text.matchAll(/([0-9]+)(ms|h|m|s)/gy)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (MILLISECONDS[unit ?? ''] ?? 0),
    0,
  )
