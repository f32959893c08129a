// Chunked list: a long list cut into chunks of about 64, so that a change costs one of them. A chunk stays the same object
// while its elements do, so results are memoised per chunk. The cuts depend on the names in the list alone: equal lists are
// cut alike in every process, and an element that is added, removed or moved leaves the other cuts in place.

/** Not empty. */
export type Chunk<Element> = readonly Element[]

export type Chunker<Element> = <Own extends Element>(list: readonly Own[]) => readonly Chunk<Own>[]

/** On average; a power of two. */
const LENGTH = 64
/** Where names are such that there is no cut. */
const MAX_LENGTH = 8 * LENGTH

/** One for each kind of element: the chunk that last began with an element is found by that element. */
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
  const chunksOf = (list: readonly Element[]): readonly Chunk<Element>[] => {
    const chunks: Chunk<Element>[] = []
    let start = 0
    for (let first = list[0]; first !== undefined; first = list[start]) {
      const before = known.get(first)
      const chunk =
        before !== undefined && stands(before, list, start) ? before : cut(list, start, first)
      chunks.push(chunk)
      start += chunk.length
    }
    return chunks
  }
  // Chunks hold elements of the list alone, and so what it holds.
  return chunksOf as Chunker<Element>
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
