// Chunked list: cuts a long list into chunks of about 64. A chunk stays the same object while its elements do, so
// results can be memoised per chunk and a change recomputes one chunk. Cuts depend only on names: equal lists are cut
// alike in every process, and adding, removing or moving an element does not change the other cuts.

import { createAttachedMap } from './attached-map.js'
import { commonEnds } from './diff.js'

/** Part of a list, never empty. */
export type Chunk<Element> = readonly Element[]

/** Cuts lists into chunks. */
export type Chunker<Element> = <Own extends Element>(list: readonly Own[]) => readonly Chunk<Own>[]

/** Average length of a chunk; a power of two. */
const LENGTH = 64
/** Maximum length of a chunk, for names without a cut. */
const MAX_LENGTH = 8 * LENGTH

/** The last list that began with an element, and its chunks. */
interface Cut<Element> {
  readonly list: readonly Element[]
  readonly chunks: readonly Chunk<Element>[]
}

/** Creates the chunker for one kind of element. It remembers chunks and lists by their first element. */
export function createChunker<Element extends object>(
  nameOf: (element: Element) => string,
): Chunker<Element> {
  const known = createAttachedMap<Element, Chunk<Element>>()
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
    return isWhole && chunk.every((element, index) => Object.is(element, list[start + index]))
  }
  const chunkAt = (list: readonly Element[], start: number, first: Element): Chunk<Element> => {
    const before = known.get(first)
    return before !== undefined && stands(before, list, start) ? before : cut(list, start, first)
  }
  const cuts = createAttachedMap<Element, Cut<Element>>()
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
  // Chunks only contain elements of the list, so they have its element type.
  return chunksOf as Chunker<Element>
}

interface KnownChunks<Element> {
  /** Chunks before the first change. */
  readonly start: readonly Chunk<Element>[]
  /** Number of elements in start. */
  readonly length: number
  /** Returns the chunks after the last change, from the one that begins at this index of the list, if any does. */
  restFrom(place: number): readonly Chunk<Element>[] | undefined
}

/** Finds the unchanged chunks of the previous list. */
function knownChunks<Element>(
  { list: before, chunks }: Cut<Element>,
  list: readonly Element[],
): KnownChunks<Element> {
  const { start, end } = commonEnds(before, list)
  let count = 0
  let length = 0
  // The last chunk may end only because the list ended.
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

/** Cuts lists of named elements. */
export const namedChunks = createChunker<{ readonly name: string }>(({ name }) => name)

/** Cuts lists of elements with keys. */
export const keyedChunks = createChunker<{ readonly key: string }>(({ key }) => key)

/**
 * Whether a name ends a chunk; one in LENGTH does. FNV-1a, and then the finalizer of MurmurHash3: without it, names that
 * differ at their end, as most do, end chunks by dozens or not at all.
 */
function isCut(name: string): boolean {
  let hash = 0x811c9dc5
  for (let index = 0; index < name.length; index += 1)
    hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % LENGTH === 0
}

/** Concatenates lists. Array.concat copies them as a whole, whereas flatMap would visit every element. */
export const concat = <Element>(parts: readonly (readonly Element[])[]): readonly Element[] =>
  ([] as readonly Element[]).concat(...parts)
