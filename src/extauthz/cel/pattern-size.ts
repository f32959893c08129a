// Estimates, before a pattern is compiled, the maximum number of its instructions: a{1000} has a thousand. Takes one
// pass over the text. An invalid pattern gets some number, and the compiler then rejects it.

interface Group {
  size: number
  /** Size of what a following repetition would repeat. */
  last: number
}

const REPETITION = /\{(\d+)(?:,(\d*))?\}/y

/** Returns an estimate that is never too low. */
export function estimatedSize(pattern: string): number {
  const groups: Group[] = [{ size: 2, last: 0 }]
  let at = 0
  while (at < pattern.length) {
    const group = groups.at(-1) as Group
    const character = pattern.charAt(at)
    if (character === '(') {
      groups.push({ size: 2, last: 0 })
      at += 1
    } else if (character === ')') {
      closeGroup(groups)
      at += 1
    } else if (character === '{') at = repeat(pattern, at, group)
    else at = addAtom(pattern, at, group)
  }
  while (groups.length > 1) closeGroup(groups)
  return groups[0]?.size ?? 0
}

function closeGroup(groups: Group[]): void {
  const inner = groups.length > 1 ? groups.pop() : undefined
  const outer = groups.at(-1)
  if (inner === undefined || outer === undefined) return
  outer.size += inner.size
  outer.last = inner.size
}

/** Reads {n}, {n,} or {n,m}; any other brace is a character. */
function repeat(pattern: string, at: number, group: Group): number {
  REPETITION.lastIndex = at
  const [text, least = '', most = ''] = REPETITION.exec(pattern) ?? []
  if (text === undefined) {
    group.size += 1
    group.last = 1
    return at + 1
  }
  const times = Math.max(Number(least) + 1, Number(most))
  group.size += (group.last + 1) * times
  group.last = (group.last + 1) * times
  return at + text.length
}

/** Reads a character, a class, an escape or an operator; an operator also counts as one. */
function addAtom(pattern: string, at: number, group: Group): number {
  const character = pattern.charAt(at)
  const isQuoted = pattern.startsWith('\\Q', at)
  const end = isQuoted
    ? endOr(pattern.indexOf('\\E', at), 2, pattern)
    : character === '['
      ? classEnd(pattern, at)
      : character === '\\'
        ? escapeEnd(pattern, at)
        : at + 1
  group.size += isQuoted ? end - at : 1
  const isOperator = character === '*' || character === '+' || character === '?'
  group.last = isOperator ? group.last + 1 : 1
  return end
}

const endOr = (found: number, length: number, pattern: string): number =>
  found < 0 ? pattern.length : found + length

function escapeEnd(pattern: string, at: number): number {
  const hasBraces = /[pPx]/.test(pattern.charAt(at + 1)) && pattern.charAt(at + 2) === '{'
  return hasBraces ? endOr(pattern.indexOf('}', at), 1, pattern) : at + 2
}

function classEnd(pattern: string, start: number): number {
  let at = start + (pattern.charAt(start + 1) === '^' ? 2 : 1)
  if (pattern.charAt(at) === ']') at += 1
  while (at < pattern.length && pattern.charAt(at) !== ']') {
    const named = pattern.startsWith('[:', at) ? pattern.indexOf(':]', at + 2) : -1
    if (named >= 0) at = named + 2
    else at = pattern.charAt(at) === '\\' ? escapeEnd(pattern, at) : at + 1
  }
  return at + 1
}
