// What tells the calls of a streamed reply apart where servers give several the same index: their ids and names.

import type { JsonNode } from '../../../kit/json/json-node.js'
import { ownPart } from '../../../kit/own-text.js'

/** The id and the name that an event gives a call; "" and null count as none. */
export interface CallNames {
  readonly id?: string
  readonly name?: string
}

/** Longer ids and names are told apart by their beginning. */
const LONGEST = 128

/**
 * Returns what the first of some objects that has an id, and the first that has a name, say; undefined: neither.
 * json: the event's data. ids: the members that may hold the id.
 */
export function callNames(
  json: string,
  objects: readonly (JsonNode | undefined)[],
  ids: readonly string[] = ['id'],
): CallNames | undefined {
  const id = firstOf(json, objects, ids)
  const name = firstOf(json, objects, ['name'])
  if (id === undefined && name === undefined) return undefined
  return { ...(id !== undefined && { id }), ...(name !== undefined && { name }) }
}

function firstOf(
  json: string,
  objects: readonly (JsonNode | undefined)[],
  names: readonly string[],
): string | undefined {
  for (const object of objects) {
    if (object?.type !== 'object') continue
    for (const name of names) {
      const node = object.members.get(name)
      const said =
        node?.type === 'string'
          ? node.value
          : node?.type === 'number'
            ? json.slice(node.start, node.end)
            : ''
      if (said !== '') return ownPart(said.slice(0, LONGEST), said)
    }
  }
  return undefined
}

/**
 * Whether a call that takes the place of another is another one: it has a new id, or a new name without an id.
 * hasText: whether the call there has said something.
 */
export function isAnotherCall(
  known: CallNames | undefined,
  { id, name }: CallNames,
  hasText: boolean,
): boolean {
  if (id !== undefined) return id !== known?.id && (known?.id !== undefined || hasText)
  return name !== undefined && known?.name !== undefined && name !== known.name
}

/**
 * Whether nothing can continue the arguments of a call: they are a JSON object or array. A number, or a word, could go
 * on. said: undefined if they are too long to be known.
 */
export function isWholeCall(said: string | undefined): boolean {
  try {
    const value: unknown = JSON.parse(said ?? '')
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
