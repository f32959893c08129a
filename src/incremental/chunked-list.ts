// Chunked list: a long list cut into chunks of about 64, so that a change costs one of them. A chunk stays the same object
// while its elements do, so results are memoised per chunk. The cuts depend on the names in the list alone: equal lists are
// cut alike in every process, and an element that is added, removed or moved leaves the other cuts in place.

import { commonEnds } from './diff.js'

/** Not empty. */
export type Chunk<Element> = readonly Element[]

export type Chunker<Element> = <Own extends Element>(list: readonly Own[]) => readonly Chunk<Own>[]

/** On average; a power of two. */
const LENGTH = 64
/** Where names are such that there is no cut. */
const MAX_LENGTH = 8 * LENGTH

/** The last list that began with an element, and how it was cut. */
interface Cut<Element> {
  readonly list: readonly Element[]
  readonly chunks: readonly Chunk<Element>[]
}

/** One for each kind of element: the chunk, and the list, that last began with an element are found by that element. */
export function createChunker<Element extends object>(
  nameOf: (element: Element) => string,
): Chunker<Element> {
  const known = new WeakMap<Element, Chunk<Element>>()
  const endsWith = (last: Element, length: number): boolean =>
    length === MAX_LENGTH || isCut(nameOf(last))
  const cut = (list: readonly Element[], start: number, first: Element): Chunk<Element> => {
    const own = [first]
    for (
      let last: Element | undefined = first;
      last !== undefined && !endsWith(last, own.length);
    ) {
      last = list[start + own.length]
      if (last !== undefined) own.push(last)
    }
    known.set(first, own)
    return own
  }
  const stands = (chunk: Chunk<Element>, list: readonly Element[], start: number): boolean => {
    const last = chunk.at(-1)
    const isWhole =
      start + chunk.length === list.length || (last !== undefined && endsWith(last, chunk.length))
    return isWhole && chunk.every((element, index) => element === list[start + index])
  }
  const chunkAt = (list: readonly Element[], start: number, first: Element): Chunk<Element> => {
    const before = known.get(first)
    return before !== undefined && stands(before, list, start) ? before : cut(list, start, first)
  }
  const cuts = new WeakMap<Element, Cut<Element>>()
  const chunksOf = (list: readonly Element[]): readonly Chunk<Element>[] => {
    const [head] = list
    const before = head && cuts.get(head)
    if (before?.list === list) return before.chunks
    const chunks: Chunk<Element>[] = []
    const known = before && knownChunks(before, list)
    if (known !== undefined) for (const chunk of known.start) chunks.push(chunk)
    let start = known?.length ?? 0
    for (let first = list[start]; first !== undefined; first = list[start]) {
      const rest = known?.restFrom(start)
      if (rest !== undefined) {
        for (const chunk of rest) chunks.push(chunk)
        break
      }
      const chunk = chunkAt(list, start, first)
      chunks.push(chunk)
      start += chunk.length
    }
    if (head !== undefined) cuts.set(head, { list, chunks })
    return chunks
  }
  // Chunks hold elements of the list alone, and so what it holds.
  return chunksOf as Chunker<Element>
}

interface KnownChunks<Element> {
  /** Those before the first change. */
  readonly start: readonly Chunk<Element>[]
  /** Elements in them. */
  readonly length: number
  /** Those behind the last change, if one of them begins at this place of the list. */
  restFrom(place: number): readonly Chunk<Element>[] | undefined
}

/** Chunks of the list before that the list has too, since nothing in them has changed. */
function knownChunks<Element>(
  { list: before, chunks }: Cut<Element>,
  list: readonly Element[],
): KnownChunks<Element> {
  const { start, end } = commonEnds(before, list)
  let count = 0
  let length = 0
  // The last one may end where it does because the list did.
  for (; count < chunks.length - 1; count += 1) {
    const more = chunks[count]?.length ?? 0
    if (length + more > start) break
    length += more
  }
  let [index, place] = [count, length]
  return {
    start: chunks.slice(0, count),
    length,
    restFrom: (wanted) => {
      const there = wanted + before.length - list.length
      for (; index < chunks.length && place < there; index += 1) place += chunks[index]?.length ?? 0
      return place === there && there >= before.length - end ? chunks.slice(index) : undefined
    },
  }
}

export const namedChunks = createChunker<{ readonly name: string }>(({ name }) => name)

export const keyedChunks = createChunker<{ readonly key: string }>(({ key }) => key)

/** Of one name in LENGTH. The upper bits of FNV-1a: the lower ones know little of all but the end of the name. */
function isCut(name: string): boolean {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index += 1)
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  return (hash >>> 16) % LENGTH === 0
}

/** One after the other: copied whole, where flatMap would go through every element. */
export const concat = <Element>(parts: readonly (readonly Element[])[]): readonly Element[] =>
  ([] as readonly Element[]).concat(...parts)
