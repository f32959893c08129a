// Fields that several kinds share: ports, names, durations, references.

import { z } from 'zod'

/** The API group of the Gateway API's kinds. */
export const GATEWAY_API_GROUP = 'gateway.networking.k8s.io'

/** A port number, 1-65535. */
export const port = () => z.int().min(1).max(65_535)

/** A name of a resource, a key of its data or similar: 1 to 253 characters. */
export const name = () => z.string().min(1).max(253)

/** A namespace. */
export const namespace = () => z.string().min(1).max(63)

/** An API group; "" is the core group. */
export const group = () => z.string().max(253)

/** A kind of resource. */
export const kind = () => z.string().min(1).max(63)

/** A GEP-2257 duration ("1h30m", "500ms"), decoded to milliseconds. unit: what a small number without one may mean. */
export const duration = (unit?: 's' | 'ms') =>
  z
    .string({
      error: ({ input }) => (typeof input === 'number' ? notDuration(input, unit) : undefined),
    })
    .regex(DURATION, { error: ({ input }) => notDuration(input, unit) })
    .transform(parseDuration)

function notDuration(value: unknown, unit: 's' | 'ms' | undefined): string {
  const meant =
    typeof value === 'string' || typeof value === 'number' ? durationMeant(value, unit) : undefined
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  return `is not a duration such as 30s, 500ms or 1m30s${hint}`
}

/** The server that a policy's own calls go to: a Service, or a ProxyBackend with its group. */
export const backendRef = () =>
  z.object({
    group: group()
      .default('')
      .describe('API group of the backend: empty for a Service, the policy API group otherwise.'),
    kind: kind().default('Service').describe('Service or ProxyBackend.'),
    name: name().describe('Name of the backend.').meta({ example: 'idp' }),
    namespace: namespace()
      .optional()
      .describe(
        'Namespace of the backend, the one of the policy when absent; another one needs a ReferenceGrant there.',
      )
      .meta({ example: 'identity' }),
    port: port()
      .optional()
      .describe("Port of the backend; for a ProxyBackend it equals the backend's own.")
      .meta({ example: 443 }),
  })

// Parses Gateway API durations (GEP-2257) into milliseconds, and finds what was meant by a text that is none.

const MILLISECONDS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }

/** Matches a duration such as 1h30m or 500ms (GEP-2257). */
export const DURATION = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/

/** Returns the duration in milliseconds. The text must match DURATION. */
const parseDuration = (text: string): number =>
  [...text.matchAll(/([0-9]+)(ms|h|m|s)/gy)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (MILLISECONDS[unit ?? ''] ?? 0),
    0,
  )

/** Units as people write them, with their milliseconds. */
const WRITTEN_UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|msecs?|millis|milliseconds?)$/, 1],
  [/^(?:s|secs?|seconds?)$/, 1000],
  [/^(?:m|mins?|minutes?)$/, 60_000],
  [/^(?:h|hrs?|hours?)$/, 3_600_000],
  [/^(?:d|days?)$/, 86_400_000],
]

/** From here on, a number without a unit is probably one of milliseconds. */
const LEAST_MILLISECONDS = 1000
const MOST_COUNT = 99_999

/**
 * Returns the duration that a value was probably meant to be, such as 5s for 5, "5 seconds" and "5S"; undefined: none.
 * unit: of a small number without one.
 */
export function durationMeant(value: string | number, unit: 's' | 'ms' = 's'): string | undefined {
  const written = /^([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([a-z]{0,12})$/i.exec(String(value).trim())
  const [, count, word = ''] = written ?? []
  const own = Number(count) < LEAST_MILLISECONDS ? unit : 'ms'
  const name = word === '' ? own : word.toLowerCase()
  const [, factor] = WRITTEN_UNITS.find(([pattern]) => pattern.test(name)) ?? []
  return factor === undefined ? undefined : durationOf(Number(count) * factor)
}

function durationOf(milliseconds: number): string | undefined {
  const found = Object.entries(MILLISECONDS).find(
    ([, factor]) => milliseconds >= factor && milliseconds % factor === 0,
  )
  if (found === undefined) return undefined
  const [unit, factor] = found
  return milliseconds / factor > MOST_COUNT ? undefined : `${milliseconds / factor}${unit}`
}
