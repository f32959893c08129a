// Decides for two paths of matches whether requests may have both, and which of the two a mesh prefers. Pure.

import { matchesWhole } from '../../../extauthz/cel/patterns.js'

/** The path of a match. */
export interface MatchPath {
  readonly path: string
  readonly type: 'exact' | 'prefix' | 'pattern'
}

/** Types of paths, the preferred one last: Envoy Gateway prefers patterns to prefixes, and Istio prefixes to patterns. */
export type PathOrder = readonly MatchPath['type'][]

/** Whether a request may have both paths. Of two patterns, nobody can tell, unless they begin differently. */
export function overlaps(one: MatchPath, other: MatchPath): boolean {
  if (one.type === 'pattern' && other.type === 'pattern')
    return beginEqually(beginningOf(one.path), beginningOf(other.path))
  if (one.type === 'pattern') return mayMatch(one.path, other)
  if (other.type === 'pattern') return mayMatch(other.path, one)
  return takes(one, other.path) || takes(other, one.path)
}

/** Whether the mesh prefers the other match for some requests that both take. isNarrower: it has further conditions. */
export function isPreferred(
  own: MatchPath,
  other: MatchPath & { readonly isNarrower: boolean },
  order: PathOrder,
): boolean {
  // First what is cheap: a pattern may have to be compiled.
  return mayBePreferred(own, other, order) && overlaps(own, other)
}

function mayBePreferred(
  own: MatchPath,
  other: MatchPath & { readonly isNarrower: boolean },
  order: PathOrder,
): boolean {
  if (own.type !== other.type) return order.indexOf(other.type) > order.indexOf(own.type)
  if (own.path === other.path) return other.isNarrower
  // Nobody says which of two patterns is preferred that are as long.
  const atLeast = own.path.length + (own.type === 'pattern' ? 0 : 1)
  return other.path.length >= atLeast
}

/** Whether a match that is no pattern takes a path. A prefix takes whole segments. */
const takes = ({ path, type }: MatchPath, of: string): boolean =>
  path === of || (type === 'prefix' && of.startsWith(path.endsWith('/') ? path : `${path}/`))

/** Longest pattern that is tried. */
const LONGEST = 300

function mayMatch(pattern: string, { path, type }: MatchPath): boolean {
  const beginning = beginningOf(pattern)
  if (!path.startsWith(beginning) && (type === 'exact' || !beginning.startsWith(path))) return false
  // A class within a class has brackets that are no ends. Longer ones are not worth the time.
  if (pattern.length > LONGEST || pattern.includes('[:')) return true
  try {
    if (matchesWhole(path, pattern)) return true
    return type === 'prefix' && matchesWhole(path.endsWith('/') ? path : `${path}/`, begun(pattern))
  } catch {
    // It is too large to try.
    return true
  }
}

/** An atom of a pattern: an escape, a class, or a character that stands for itself or for any. */
const ATOM =
  /\\(?:[pPx]\{[^}]*\}|x[\da-fA-F]{2}|.)|\[\^?\]?(?:\\.|[^\]\\]){0,300}\]|[^()|*+?{}^$\\[\]]/
/** What is no atom: the beginnings of groups with their flags, quantifiers, and all that is left. */
const OTHER = /\(\?(?:P?<\w+>|[a-zA-Z-]*:?)|\{[\d,]+\}/
const TOKEN = new RegExp(`${OTHER.source}|(${ATOM.source})`, 'g')

/** Returns a pattern that matches each beginning of what the pattern matches: each atom may be the end. */
const begun = (pattern: string): string =>
  pattern.replace(TOKEN, (token: string, atom: string | undefined) =>
    atom === undefined ? token : `(?:${atom}|$)`,
  )

/** Returns the text with which all matches of a pattern begin. */
const beginningOf = (pattern: string): string =>
  pattern.includes('|')
    ? ''
    : (/^\^?((?:[\w/~%-]|\\\W)*)(?![*?{])/.exec(pattern)?.[1] ?? '').replaceAll('\\', '')

const beginEqually = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one)
