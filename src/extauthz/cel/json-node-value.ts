// Converts a node of JSON text to a CEL value, counted against the evaluation's budget: a body may be a thousand times
// what an expression should read.

import type { JsonNode } from '../../kit/json/json-node.js'
import { type JsonObjectNode, member } from '../../kit/json/members.js'
import { charge } from './budget.js'
import { parseJsonText } from './json-text.js'
import type { CelValue } from './values.js'

/** Bytes for each item of a list, and for each member of a map. */
const VALUE_BYTES = 16
const MEMBER_BYTES = 64

/** text: the text that contains the node. @throws CelLimitError beyond the budget. */
export function jsonNodeValue(node: JsonNode, text: string): CelValue {
  charge(1)
  switch (node.type) {
    case 'string':
      return node.value
    case 'object': {
      charge(node.members.size, node.members.size * MEMBER_BYTES)
      const map = new Map<string, CelValue>()
      for (const [name, value] of node.members) map.set(name, jsonNodeValue(value, text))
      return withOneSpelling(map, node)
    }
    case 'array':
      if (node.isCut === true) return convertText(node, text)
      charge(0, node.items.length * VALUE_BYTES)
      return node.items.map((item) => jsonNodeValue(item, text))
    default:
      return convertText(node, text)
  }
}

/**
 * Makes reading a member fail if it is also, or only, there in another spelling: a server may take that one. Still a Map,
 * by whose constructor the library knows maps.
 */
function withOneSpelling(
  map: Map<string, CelValue>,
  node: JsonObjectNode,
): ReadonlyMap<string, CelValue> {
  const isThere = (name: unknown): name is string =>
    typeof name === 'string' && member(node, name) !== undefined
  const get = map.get.bind(map)
  return Object.assign(map, {
    get: (name: unknown) => (isThere(name) ? get(name) : undefined),
    has: isThere,
  })
}

function convertText({ start, end }: JsonNode, text: string): CelValue {
  charge((end - start) / 2, (end - start) * VALUE_BYTES)
  return parseJsonText(text.slice(start, end))
}
