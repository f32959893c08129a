// Places of a text of which it is known, without comparing the texts, where they are in what webhooks made of it: the ends of
// earlier windows, as long as later windows begin with the same answer. No change lies across them, however close to each
// other changes are.

/** at: an offset of the original. to: the same place in the changed text. */
export interface Place {
  readonly at: number
  readonly to: number
}

/** How close to each other places are kept at most. */
const APART = 16

export interface Seen {
  readonly original: string
  readonly changed: string
}

export class KnownPlaces {
  private places: readonly Place[] = []
  private changed = ''

  /** The answer to the next window, which begins where the one before began: what is otherwise in it is forgotten. */
  compare({ changed }: Pick<Seen, 'changed'>): void {
    let [same, other] = [0, this.places.length]
    while (same < other) {
      const middle = (same + other + 1) >> 1
      const to = this.places[middle - 1]?.to ?? 0
      if (this.changed.slice(0, to) === changed.slice(0, to)) same = middle
      else other = middle - 1
    }
    this.places = this.places.slice(0, same)
    this.changed = changed
  }

  /** The end of the window, if it lies between two changes for all that is known. */
  addEnd({ original, changed }: Seen): void {
    const [at, to] = [original.length, changed.length]
    const before = this.places.at(-1) ?? { at: 0, to: 0 }
    if (endsAlike({ original, changed }) && at >= before.at + APART && to > before.to)
      this.add({ at, to })
  }

  /** Likewise of a window that ended before the last one did, and whose answer that one's begins with. */
  addWithin({ original, changed }: Seen): void {
    const place = { at: original.length, to: changed.length }
    if (endsAlike({ original, changed }) && this.placeAt(place.at) === undefined) this.add(place)
  }

  add(place: Place): void {
    this.places = [...this.places, place].sort((a, b) => a.at - b.at)
  }

  /** The last one up to these offsets. */
  lastUpTo({ at, to }: Place): Place | undefined {
    return this.places.findLast((place) => place.at <= at && place.to <= to)
  }

  placeAt(at: number): Place | undefined {
    return this.places.find((place) => place.at === at)
  }

  /** The windows begin there from now on. */
  beginAt({ at, to }: Place): void {
    this.places = this.places
      .filter((place) => place.at > at)
      .map((place) => ({ at: place.at - at, to: place.to - to }))
    this.changed = this.changed.slice(to)
  }

  clear(): void {
    this.places = []
    this.changed = ''
  }
}

/** What stands there was not changed, as far as one character says it. */
const endsAlike = ({ original, changed }: Seen): boolean =>
  changed !== '' &&
  original.charCodeAt(original.length - 1) === changed.charCodeAt(changed.length - 1)
