// Translates and validates the matches of a rule (Gateway API, HTTPRouteMatch).

import { compareText } from '../../../kit/incremental/sorted-list.js'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Work } from '../../../kit/turns.js'
import type { PathMatch, RouteMatch, ValueMatch } from '../../../model/route.js'
import type { HttpRouteRule, HttpRouteSpec } from '../../schema/kinds/http-route.js'
import { isHeaderName } from '../world/header-modifiers.js'
import { isUsablePattern, PATTERN_EXPECTED } from './path-patterns.js'

type MatchSpec = HttpRouteRule['matches'][number]

/**
 * Compiles the patterns of a route, with a yield after each, so that translateMatch() need not do it at once: one takes
 * a quarter of a millisecond, and a route may have thousands.
 */
export function* checkPatterns({ rules }: Pick<HttpRouteSpec, 'rules'>): Work<void> {
  for (const { matches } of rules)
    for (const { path, headers, queryParams } of matches) {
      for (const match of [path, ...headers, ...queryParams]) {
        if (match.type !== 'RegularExpression') continue
        isUsablePattern(match)
        yield
      }
      yield
    }
}

/** Translates a match. The error is a sentence for the status. */
export function translateMatch(spec: MatchSpec): Result<RouteMatch, string> {
  const path = translatePath(spec.path)
  if (!path.ok) return path
  const badName = spec.headers.find(({ name }) => !isHeaderName(name))
  if (badName !== undefined) return err(`"${badName.name}" is not a header name`)
  const values = [...spec.headers, ...spec.queryParams]
  const bad = values.find((match) => match.type === 'RegularExpression' && !isUsablePattern(match))
  if (bad !== undefined) return err(`${bad.name}: ${PATTERN_EXPECTED}`)
  return ok({
    path: path.value,
    ...(spec.method === undefined ? {} : { method: spec.method }),
    headers: firstOfEach(
      spec.headers.map((match) => ({ ...match, name: match.name.toLowerCase() })),
    ),
    queryParams: firstOfEach(spec.queryParams),
  })
}

/** A pattern stays the same object, as what is known about it is kept on it. */
function translatePath(path: MatchSpec['path']): Result<PathMatch, string> {
  const { type, value } = path
  if (type === 'RegularExpression')
    return isUsablePattern(path) ? ok(path) : err(`path "${value}": ${PATTERN_EXPECTED}`)
  const problem = pathProblem(value)
  if (problem !== undefined) return err(`path "${value}" ${problem}`)
  if (type === 'Exact') return ok({ type, value })
  return ok({ type, value: value === '/' ? value : value.replace(/\/$/, '') })
}

/** Returns why a path can never match a request normalised by Envoy (decision 8); the Gateway API forbids these too. */
function pathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'does not begin with a slash'
  if (/\/\/|\/\.{1,2}(\/|$)|%2f|%5c|\\/i.test(path)) return 'has a segment that is normalised away'
  return /[?#\s\p{Cc}]/u.test(path) ? 'has a character that paths do not allow' : undefined
}

/**
 * Returns a match by path alone, in place of one that cannot be translated. It covers every request that the author's
 * match could, so none of them reaches a broader route. undefined: no request that Envoy normalised has such a path.
 */
export function coveringMatch({ path }: MatchSpec): RouteMatch | undefined {
  const translated = translatePath(path)
  if (translated.ok) return { path: translated.value, headers: [], queryParams: [] }
  return path.type === 'RegularExpression'
    ? { path: coverOf(path.value), headers: [], queryParams: [] }
    : undefined
}

/** Maximum number of matches that stand for those of a rule that is too large. */
const MOST_COVERS = 4

/**
 * Returns a few matches by path alone, in place of those of a rule that is too large (route-sizes.ts). If the rule is
 * protective they cover every request that the author's could, so none reaches a broader route. Otherwise there are none
 * for many paths: what covers all of them could cover routes of others on the same host.
 */
export function coveringMatches(
  specs: readonly MatchSpec[],
  isProtective: boolean,
): readonly RouteMatch[] {
  const paths = specs.flatMap(({ path }) => {
    if (path.type === 'RegularExpression') return isProtective ? [coverOf(path.value)] : []
    const translated = translatePath(path)
    return translated.ok ? [translated.value] : []
  })
  const unique = new Map(paths.map((path) => [`${path.type} ${path.value}`, path]))
  const many = isProtective ? [coverOfAll(paths)] : []
  const covers = unique.size <= MOST_COVERS ? [...unique.values()] : many
  return covers.map((path) => ({ path, headers: [], queryParams: [] }))
}

/** Returns a pattern, which precedes every prefix as paths of the rule may, for all paths that begin as all of these do. */
function coverOfAll(paths: readonly PathMatch[]): PathMatch {
  const [first = '', ...others] = paths.map(({ value }) => value)
  let length = /^[\w/~-]*/.exec(first)?.[0].length ?? 0
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length -= 1
  return { type: 'RegularExpression', value: `${first.slice(0, length) || '/'}.*` }
}

/** Returns a pattern, which keeps the rank, if all matching paths begin alike; otherwise the whole host. */
function coverOf(pattern: string): PathMatch {
  const beginning = plainBeginning(pattern)
  return beginning.length > 1
    ? { type: 'RegularExpression', value: `${beginning}.*` }
    : { type: 'PathPrefix', value: '/' }
}

/** Returns the characters before the first metacharacter, but for one that may be repeated; "" if there is a choice. */
function plainBeginning(pattern: string): string {
  if (pattern.includes('|')) return ''
  const plain = /^\^?([\w/~-]*)(.?)/.exec(pattern)
  const [, text = '', next = ''] = plain ?? []
  return /[?*+{]/.test(next) ? text.slice(0, -1) : text
}

/** Keeps the first match of each name (Gateway API). */
const firstOfEach = (matches: readonly ValueMatch[]): readonly ValueMatch[] =>
  matches
    .filter(({ name }, index) => matches.findIndex((other) => other.name === name) === index)
    .map(({ name, type, value }) => ({ name, type, value }))
    .sort((a, b) => compareText(a.name, b.name))
