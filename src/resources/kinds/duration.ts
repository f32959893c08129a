// Durations as the Gateway API writes them (GEP-2257) → milliseconds.

const MILLISECONDS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** text: one that matches GEP-2257's pattern, e.g. "1h30m" or "500ms". */
export const parseDuration = (text: string): number =>
  [...text.matchAll(/([0-9]+)(ms|h|m|s)/gy)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (MILLISECONDS[unit ?? ''] ?? 0),
    0,
  )
