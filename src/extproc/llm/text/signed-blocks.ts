// Leaves signed thoughts out of a request: a provider refuses one whose signature does not fit, but none that is absent.

import type { JsonNode, Span } from '../../../kit/json/json-node.js'
import type { Edit } from '../../../kit/json/json-text.js'
import type { JsonObjectNode } from '../../../kit/json/members.js'
import type { Pace, Work } from '../../../kit/turns.js'
import { firstWhere } from './first-where.js'

/** An item of a list, which may be within an item of another. */
interface Item {
  readonly items: readonly JsonNode[]
  readonly index: number
  readonly around: Item | undefined
}

/** What can be left out of a body. */
export interface Blocks {
  /** Whether the object is a thought, in a list of blocks, parts, items or messages. */
  isThought(object: Span): Work<boolean>
  /** Leaves out the item that the object is, or is in. */
  leaveOut(object: Span): Work<void>
  /** Returns the edits, in order, that leave out what was named. A list that would be empty goes with the item that has it. */
  edits(): readonly Edit[]
}

/** Returns the blocks of a body, of which nothing has been left out. */
export const blocksOf = (root: JsonNode, pace: Pace): Blocks => new BlocksOfBody(root, pace)

const THOUGHTS: ReadonlySet<string> = new Set([
  'thinking',
  'reasoning',
  'reasoning.text',
  'reasoning.summary',
  'thought',
])

class BlocksOfBody implements Blocks {
  readonly #gone = new Map<
    readonly JsonNode[],
    { around: Item | undefined; indexes: Set<number> }
  >()

  constructor(
    private readonly root: JsonNode,
    private readonly pace: Pace,
  ) {}

  *isThought(object: Span): Work<boolean> {
    const found = yield* this.#find(object)
    return found?.item !== undefined && (found.name === 'reasoningText' || isOfThought(found.node))
  }

  *leaveOut(object: Span): Work<void> {
    const found = yield* this.#find(object)
    if (found?.item !== undefined) this.#remove(found.item)
  }

  edits(): readonly Edit[] {
    const edits: Edit[] = []
    for (const [items, { indexes }] of this.#gone) {
      let isKept = false
      for (const [index, item] of items.entries()) {
        if (!indexes.has(index)) isKept = true
        else if (isKept) edits.push({ start: items[index - 1]?.end ?? 0, end: item.end, json: '' })
        else edits.push({ start: item.start, end: items[index + 1]?.start ?? item.end, json: '' })
      }
    }
    return outermost(edits.toSorted((a, b) => a.start - b.start))
  }

  #remove(item: Item): void {
    const { items, index, around } = item
    const gone = this.#gone.get(items) ?? { around, indexes: new Set<number>() }
    this.#gone.set(items, gone)
    gone.indexes.add(index)
    if (gone.indexes.size < items.length || around === undefined) return
    this.#gone.delete(items)
    this.#remove(around)
  }

  /** name: of the member that the object is. */
  *#find(
    object: Span,
  ): Work<{ node: JsonObjectNode; name: string; item: Item | undefined } | undefined> {
    let [node, name, item]: [JsonNode | undefined, string, Item | undefined] = [
      this.root,
      '',
      undefined,
    ]
    while (node !== undefined && (node.type === 'object' || node.type === 'array')) {
      if (node.type === 'object' && node.start === object.start) return { node, name, item }
      if (node.type === 'object') {
        if (this.pace.isDue(node.members.size)) yield
        const next: readonly [string, JsonNode] | undefined = memberAround(node, object)
        if (next === undefined) return undefined
        ;[name, node] = next
      } else {
        const index: number = firstWhere(node.items, ({ end }) => end >= object.end)
        item = { items: node.items, index, around: item }
        node = node.items[index]
      }
    }
    return undefined
  }
}

function isOfThought({ members }: JsonObjectNode): boolean {
  const [type, role, thought] = ['type', 'role', 'thought'].map((name) => members.get(name))
  const isTrue = thought?.type === 'boolean' && thought.end - thought.start === 'true'.length
  const isNamed = type?.type === 'string' && THOUGHTS.has(type.value)
  return isTrue || isNamed || (role?.type === 'string' && role.value === 'reasoning')
}

function memberAround(
  { members }: JsonObjectNode,
  { start, end }: Span,
): readonly [string, JsonNode] | undefined {
  for (const member of members) if (member[1].start <= start && end <= member[1].end) return member
  return undefined
}

/** Returns those that are in no other. edits: in the order of their places. */
function outermost(edits: readonly Edit[]): readonly Edit[] {
  let end = 0
  return edits.filter((edit) => {
    if (edit.start < end) return false
    end = edit.end
    return true
  })
}
