// Finds matches by path, without looking at all of them.

import type { MatchPath } from './path-overlap.js'

/** Matches by path. */
export class PathIndex<Entry extends MatchPath> {
  readonly #literal: Entry[] = []
  readonly #patterns: Entry[] = []
  #isSorted = true

  add(entry: Entry): void {
    if (entry.type === 'pattern') this.#patterns.push(entry)
    else {
      this.#literal.push(entry)
      this.#isSorted = false
    }
  }

  /** Returns at least the matches that share requests with a path, and that begin with it. */
  below(own: MatchPath): readonly Entry[] {
    return own.type === 'pattern'
      ? [...this.#sorted(), ...this.#patterns]
      : [...this.#from(own.path, (path) => path.startsWith(own.path)), ...this.#patterns]
  }

  /** Returns at least the matches that share requests with a path. */
  near(own: MatchPath): readonly Entry[] {
    if (own.type === 'pattern') return this.below(own)
    const parts = own.path.split('/')
    const above = parts.map((_, index) => parts.slice(0, index).join('/') || '/')
    const unique = [...new Set(above)].filter((path) => path !== own.path)
    return [
      ...unique.flatMap((path) => this.#from(path, (each) => each === path)),
      ...this.below(own),
    ]
  }

  /** Returns the matches from a path on, as long as their paths are wanted. */
  #from(path: string, isWanted: (path: string) => boolean): readonly Entry[] {
    const all = this.#sorted()
    let [low, high] = [0, all.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((all[middle]?.path ?? '') < path) low = middle + 1
      else high = middle
    }
    let end = low
    while (end < all.length && isWanted(all[end]?.path ?? '')) end++
    return all.slice(low, end)
  }

  #sorted(): readonly Entry[] {
    if (!this.#isSorted) this.#literal.sort((a, b) => (a.path < b.path ? -1 : 1))
    this.#isSorted = true
    return this.#literal
  }
}
