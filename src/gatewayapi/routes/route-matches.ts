// Translates and validates the matches of a rule (Gateway API, HTTPRouteMatch).

import { patternSize } from '../../cel/patterns.js'
import { compareText } from '../../incremental/sorted-list.js'
import type { PathMatch, RouteMatch, ValueMatch } from '../../ir/route.js'
import type { HttpRouteRule } from '../../resources/kinds/http-route.js'
import { err, ok, type Result } from '../../result.js'
import { isHeaderName } from '../world/header-modifiers.js'

type MatchSpec = HttpRouteRule['matches'][number]

export function translateMatch(spec: MatchSpec): Result<RouteMatch, string> {
  const path = translatePath(spec.path)
  if (!path.ok) return path
  const badName = spec.headers.find(({ name }) => !isHeaderName(name))
  if (badName !== undefined) return err(`"${badName.name}" is not a header name`)
  const values = [...spec.headers, ...spec.queryParams]
  const bad = values.find(({ type, value }) => type === 'RegularExpression' && !isPattern(value))
  if (bad !== undefined)
    return err(
      `${bad.name}: the value is not a regular expression of RE2 that Envoy takes: ASCII, without \\p and \\x{…}, not too long`,
    )
  return ok({
    path: path.value,
    ...(spec.method === undefined ? {} : { method: spec.method }),
    headers: firstOfEach(
      spec.headers.map((match) => ({ ...match, name: match.name.toLowerCase() })),
    ),
    queryParams: firstOfEach(spec.queryParams),
  })
}

/**
 * Maximum size of a pattern, in instructions of Gatehouse's own compiler. Envoy needs up to 16 for each of them, and
 * its limit is set to fit (runtime.ts of xds).
 */
const MAX_PATTERN_SIZE = 500

/**
 * Whether Envoy can compile the pattern; otherwise it would NACK the whole route configuration, everybody's routes.
 * Envoy compiles bytes, not characters: code points beyond 255 and Unicode classes have no meaning or are errors.
 */
function isPattern(pattern: string): boolean {
  if (!/^[\x20-\x7e]*$/.test(pattern) || /\\(?:p|x\{)/i.test(pattern)) return false
  try {
    return patternSize(pattern) <= MAX_PATTERN_SIZE
  } catch {
    return false
  }
}

function translatePath({ type, value }: MatchSpec['path']): Result<PathMatch, string> {
  if (type === 'RegularExpression')
    return err('path type RegularExpression is not implemented; expected Exact or PathPrefix')
  const problem = pathProblem(value)
  if (problem !== undefined) return err(`path "${value}" ${problem}`)
  if (type === 'Exact') return ok({ type, value })
  return ok({ type, value: value === '/' ? value : value.replace(/\/$/, '') })
}

/** Returns why a path can never match a request normalised by Envoy (decision 8); the Gateway API forbids these too. */
function pathProblem(path: string): string | undefined {
  if (!path.startsWith('/')) return 'does not begin with a slash'
  if (/\/\/|\/\.{1,2}(\/|$)|%2f|%5c|\\/i.test(path)) return 'has a segment that is normalised away'
  return /[?#\s\p{Cc}]/u.test(path) ? 'has a character that is not of a path' : undefined
}

/**
 * Returns a match by path alone, in place of one that cannot be translated. For a pattern, the path is the prefix
 * before the first metacharacter, without the last segment if it has several. undefined: no such path is known.
 */
export function coveringMatch({ path }: MatchSpec): RouteMatch | undefined {
  const plain = path.type === 'RegularExpression' ? plainPrefix(path.value) : path
  const translated = plain && translatePath(plain)
  return translated?.ok === true
    ? { path: translated.value, headers: [], queryParams: [] }
    : undefined
}

function plainPrefix(pattern: string): MatchSpec['path'] | undefined {
  const text = pattern.replace(/^\^/, '')
  const plain = /^[\w/~-]*/.exec(text)?.[0] ?? ''
  const folder = plain === text ? plain : plain.slice(0, plain.lastIndexOf('/'))
  const value = folder === '' ? plain : folder
  return value.replaceAll('/', '') === '' ? undefined : { type: 'PathPrefix', value }
}

/** Keeps the first match of each name (Gateway API). */
const firstOfEach = (matches: readonly ValueMatch[]): readonly ValueMatch[] =>
  matches
    .filter(({ name }, index) => matches.findIndex((other) => other.name === name) === index)
    .map(({ name, type, value }) => ({ name, type, value }))
    .sort((a, b) => compareText(a.name, b.name))
