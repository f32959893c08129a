// Bounds what HTTPRoutes make of Envoy's configuration. Envoy takes a rule's filters and backends once for each of its
// matches, in each virtual host, and compiles each pattern again: an object of 1 MB could make gigabytes of them, and end
// the Envoy of all namespaces.

import { mapEach, mapWork, type Work } from '../../../kit/turns.js'
import type { HttpRouteSpec } from '../../schema/kinds/http-route.js'
import { sizeOfPattern } from './path-patterns.js'
import type { TranslatedRule } from './route-rules.js'
import type { ScopedRules } from './route-status.js'

/** Maximum of the routes of one HTTPRoute, in characters of the model's JSON. */
export const MOST_IN_ENVOY = 16 * 1024 * 1024
/** Characters. */
export const MEGABYTE = 1024 * 1024

/** Rules that make so few routes are not measured, but for their patterns: an object has 1.5 MB at most. */
const FEW = 8

/**
 * Characters that count for an instruction of a pattern. Envoy takes four bytes for a character of a route, and up to 170
 * for an instruction: a class of characters is one, and dozens in Envoy.
 */
const INSTRUCTION = 40

/** Returns the size of each rule in all scopes, with a yield after each measurement. */
export function* sizesOfRules(
  { rules: specs }: Pick<HttpRouteSpec, 'rules'>,
  scoped: readonly ScopedRules[],
): Work<readonly number[]> {
  const sizes: number[] = specs.map(() => 0)
  const patterns = yield* mapWork(specs, ({ matches }) => mapEach(matches, patternsOf))
  for (const { scope, rules } of scoped)
    for (const [index, rule] of rules.entries()) {
      const size = sizeOf(rule, patterns[index] ?? [], scope.placements.length)
      sizes[index] = (sizes[index] ?? 0) + size
      yield
    }
  return sizes
}

/** Returns the rules that must refuse, by index: the largest ones, until the others are within the bound together. */
export function rulesBeyond(sizes: readonly number[], most: number): readonly number[] {
  const beyond: number[] = []
  let rest = sum(sizes)
  for (const [index, size] of [...sizes.entries()].sort(([, a], [, b]) => b - a)) {
    if (rest <= most) break
    beyond.push(index)
    rest -= size
  }
  return beyond
}

/** Returns the size of an HTTPRoute whose rules beyond the bound refuse. */
export function sizeWithin(sizes: readonly number[], most: number): number {
  const beyond = new Set(rulesBeyond(sizes, most))
  return sum(sizes.filter((_, index) => !beyond.has(index)))
}

const sum = (sizes: readonly number[]): number => sizes.reduce((all, size) => all + size, 0)

type MatchSpec = HttpRouteSpec['rules'][number]['matches'][number]

/** patterns: the size of those of each match. hosts: the number of virtual hosts that get the routes. */
function sizeOf({ routes }: TranslatedRule, patterns: readonly number[], hosts: number): number {
  const [first] = routes
  if (first === undefined) return 0
  const few = routes.length * hosts <= FEW
  const ofOneMatch = few ? [] : routes.filter(({ match }) => match === first.match)
  // All routes of a rule share everything but their matches.
  const shared = Math.max(0, ...ofOneMatch.map(({ route }) => lengthOf({ ...route, match: {} })))
  const own = routes.map(
    ({ match, route }) => (few ? 0 : lengthOf(route.match)) + (patterns[match] ?? 0),
  )
  return (shared * routes.length + sum(own)) * hosts
}

const patternsOf = ({ path, headers, queryParams }: MatchSpec): number =>
  sum(
    [path, ...headers, ...queryParams].map((match) =>
      match.type === 'RegularExpression' ? (sizeOfPattern(match) ?? 0) * INSTRUCTION : 0,
    ),
  )

const lengthOf = (part: object): number => JSON.stringify(part).length

/** Returns what is wrong with a rule that is too large. within: names the bound. */
export const tooLargeProblem = (size: number, within: string): string =>
  `it is too large for Envoy: its filters, backends and patterns, repeated for each match and host, make ${(size / MEGABYTE).toFixed()} MB, and ${within}; use fewer matches, hostnames, headers or patterns`
