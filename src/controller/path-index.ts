// Finds matches by path, without looking at all of them.

import { compareText, patchSorted } from '../incremental/sorted-list.js'
import type { Work } from '../turns.js'
import type { MatchPath } from './path-overlap.js'

/** Matches by path. */
export class PathIndex<Entry extends MatchPath> {
  #literal: readonly Entry[]
  readonly #patterns: readonly Entry[]

  private constructor(literal: readonly Entry[], patterns: readonly Entry[]) {
    this.#literal = literal
    this.#patterns = patterns
  }

  static *of<Entry extends MatchPath>(entries: readonly Entry[]): Work<PathIndex<Entry>> {
    const added = entries.filter(({ type }) => type !== 'pattern')
    const patterns = entries.filter(({ type }) => type === 'pattern')
    const byPath = (a: Entry, b: Entry): number => compareText(a.path, b.path)
    return new PathIndex(yield* patchSorted([], { removed: [], added }, byPath), patterns)
  }

  /** Returns at least the matches that share requests with a path, and that begin with it. */
  *below(own: MatchPath): Iterable<Entry> {
    if (own.type === 'pattern') yield* this.#literal
    else yield* this.#from(own.path, (path) => path.startsWith(own.path))
    yield* this.#patterns
  }

  /** Returns at least the matches that share requests with a path. */
  *near(own: MatchPath): Iterable<Entry> {
    if (own.type !== 'pattern') {
      const parts = own.path.split('/')
      const above = parts.map((_, index) => parts.slice(0, index).join('/') || '/')
      for (const path of new Set(above))
        if (path !== own.path) yield* this.#from(path, (each) => each === path)
    }
    yield* this.below(own)
  }

  /** Returns the matches from a path on, as long as their paths are wanted. */
  *#from(path: string, isWanted: (path: string) => boolean): Iterable<Entry> {
    const all = this.#literal
    let [low, high] = [0, all.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareText(all[middle]?.path ?? '', path) < 0) low = middle + 1
      else high = middle
    }
    for (let at = low; at < all.length; at += 1) {
      const entry = all[at]
      if (entry === undefined || !isWanted(entry.path)) return
      yield entry
    }
  }
}
