// Remembers places that are known, without comparing the texts, to be the same in a text and in what webhooks made of
// it: the ends of earlier windows, as long as later windows begin with the same answer. No change crosses them, however
// close changes are to each other.

import { agreementAtEnd } from './align.js'

/** at: an offset of the original. to: the same place in the changed text. */
export interface Place {
  readonly at: number
  readonly to: number
  /** Set if the place was found by comparing the texts: releases continue there, but no window begins there. */
  readonly isCut?: boolean
}

/** Minimum distance between the ends of windows that are kept. */
const APART = 16

/** A text, and what webhooks made of it. */
export interface Seen {
  readonly original: string
  readonly changed: string
}

/** Places that are the same in both texts. */
export class KnownPlaces {
  #places: readonly Place[] = []
  #changed = ''

  /** changed: the answer to the next window, with the same start. Forgets the places up to which the answers differ. */
  compare({ changed }: Pick<Seen, 'changed'>): void {
    let [same, other] = [0, this.#places.length]
    while (same < other) {
      const middle = (same + other + 1) >> 1
      const to = this.#places[middle - 1]?.to ?? 0
      if (this.#changed.slice(0, to) === changed.slice(0, to)) same = middle
      else other = middle - 1
    }
    this.#places = this.#places.slice(0, same)
    this.#changed = changed
  }

  /** Adds the end of the window if, as far as is known, no change crosses it. */
  addEnd({ original, changed }: Seen): void {
    const [at, to] = [original.length, changed.length]
    const before = this.#places.at(-1) ?? { at: 0, to: 0 }
    if (endsAlike({ original, changed }) && at >= before.at + APART && to > before.to)
      this.add({ at, to })
  }

  /** Adds the end of a shorter window, with whose answer the last answer begins, under the same condition. */
  addWithin({ original, changed }: Seen): void {
    const place = { at: original.length, to: changed.length }
    if (endsAlike({ original, changed }) && this.placeAt(place.at) === undefined) this.add(place)
  }

  add(place: Place): void {
    this.#places = [...this.#places, place].sort((a, b) => a.at - b.at)
  }

  /** Returns the last place up to these offsets that is no cut. */
  lastUpTo({ at, to }: Place): Place | undefined {
    return this.#places.findLast(
      (place) => place.isCut !== true && place.at <= at && place.to <= to,
    )
  }

  /** Returns the places up to the ends of both texts, in order. */
  within({ original, changed }: Seen): readonly Place[] {
    return this.#places.filter(({ at, to }) => at <= original.length && to <= changed.length)
  }

  placeAt(at: number): Place | undefined {
    return this.#places.find((place) => place.at === at)
  }

  /** Whether this answer is, up to the place, the one that the place was found in. */
  isConfirmedBy(changed: string, { to }: Place): boolean {
    return this.#changed.slice(0, to) === changed.slice(0, to)
  }

  /** changed: another answer to the same text. Both end alike; forgets the places before that. */
  moveTo(changed: string): void {
    const alike = this.#changed.length - agreementAtEnd(this.#changed, changed, Infinity)
    const by = changed.length - this.#changed.length
    this.#places = this.#places
      .filter(({ to }) => to >= alike)
      .map((place) => ({ ...place, to: place.to + by }))
    this.#changed = changed
  }

  /** Moves the start of the windows to this place. */
  beginAt({ at, to }: Place): void {
    this.#places = this.#places
      .filter((place) => place.at > at)
      .map((place) => ({ ...place, at: place.at - at, to: place.to - to }))
    this.#changed = this.#changed.slice(to)
  }

  clear(): void {
    this.#places = []
    this.#changed = ''
  }
}

/** Whether the end seems unchanged, judging by its last character. */
const endsAlike = ({ original, changed }: Seen): boolean =>
  changed !== '' &&
  original.charCodeAt(original.length - 1) === changed.charCodeAt(changed.length - 1)
