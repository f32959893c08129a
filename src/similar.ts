// A misspelt word and the words it may have been meant as → the nearest one, for "did you mean".

/** The nearest candidate within a third of the word's length (at least 1 edit); upper and lower case count as equal. */
export function similarWord(word: string, candidates: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const limit = Math.max(1, Math.floor(word.length / 3))
  let best: { readonly candidate: string; readonly edits: number } | undefined
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue
    const edits = editDistance(lower, candidate.toLowerCase())
    if (edits <= limit && (best === undefined || edits < best.edits)) best = { candidate, edits }
  }
  return best?.candidate
}

/** Levenshtein's distance, in which two swapped neighbours count once. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (same ? 0 : 1),
        swapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
      )
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
