// Bounds what one HTTPRoute makes of Envoy's configuration. Envoy takes a rule's filters and backends once for each of
// its matches, in each virtual host: an object of 1 MB could make a gigabyte of them, and end the Envoy of all namespaces.

import type { TranslatedRule } from './route-rules.js'
import type { ScopedRules } from './route-status.js'

/** Maximum of the routes of one HTTPRoute, in characters of the model's JSON. */
const MOST = 16 * 1024 * 1024
const MEGABYTE = 1024 * 1024

/** Rules that make so few routes are not measured: an object has 1.5 MB at most. */
const FEW = 8

/**
 * Returns the problems of the rules that must refuse, by index; empty if the HTTPRoute is within its bound. Beyond it,
 * those refuse that take more than an equal share, in every scope.
 */
export function tooLargeRules(scoped: readonly ScopedRules[]): ReadonlyMap<number, string> {
  const sizes: number[] = []
  for (const { scope, rules } of scoped)
    for (const [index, rule] of rules.entries())
      sizes[index] = (sizes[index] ?? 0) + sizeOf(rule, scope.placements.length)
  if (sizes.reduce((sum, size) => sum + size, 0) <= MOST) return new Map()
  const share = MOST / sizes.length
  const beyond = [...sizes.entries()].filter(([, size]) => size > share)
  return new Map(beyond.map(([index, size]) => [index, problemOf(size)]))
}

/** hosts: the number of virtual hosts that get the routes. */
function sizeOf({ routes }: TranslatedRule, hosts: number): number {
  const [first] = routes
  if (first === undefined || routes.length * hosts <= FEW) return 0
  const ofOneMatch = routes.filter(({ match }) => match === first.match)
  const largest = Math.max(...ofOneMatch.map(({ route }) => JSON.stringify(route).length))
  return largest * routes.length * hosts
}

const problemOf = (size: number): string =>
  `it is too large for Envoy: its filters and backends, repeated for each match and host, make ${(size / MEGABYTE).toFixed()} MB, and the HTTPRoute may make ${String(MOST / MEGABYTE)}; use fewer matches, hostnames or headers`
