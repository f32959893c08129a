// Finds the word that a misspelt one was probably meant to be, for "did you mean".

/**
 * Returns the nearest candidate within a third of the word's length (at least 1 edit) and within mostEdits. Case is
 * ignored.
 */
export function similarWord(
  word: string,
  candidates: readonly string[],
  mostEdits = Infinity,
): string | undefined {
  const lower = word.toLowerCase()
  const limit = Math.min(mostEdits, Math.max(1, Math.floor(word.length / 3)))
  let best: { readonly candidate: string; readonly edits: number } | undefined
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue
    const edits = editDistance(lower, candidate.toLowerCase(), limit)
    if (edits <= limit && (best === undefined || edits < best.edits)) best = { candidate, edits }
  }
  return best?.candidate
}

/**
 * Levenshtein distance in which swapping two neighbours counts once; above the limit, the result is some number above
 * it. Only cells within the limit of the diagonal are computed: no other can be on a path to a distance within it.
 */
function editDistance(a: string, b: string, limit: number): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = Math.max(1, i - limit); j <= Math.min(b.length, i + limit); j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        (last[j] ?? Infinity) + 1,
        (row[j - 1] ?? Infinity) + 1,
        (last[j - 1] ?? Infinity) + (same ? 0 : 1),
        swapped ? (beforeLast[j - 2] ?? Infinity) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? Infinity
}
