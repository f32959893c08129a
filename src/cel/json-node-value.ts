// A node of JSON text → the CEL value of it, counted against the budget of the evaluation: a body may be a thousand times
// what an expression should look at.

import type { JsonNode } from '../json/json-node.js'
import { charge } from './budget.js'
import { parseJsonText } from './json-text.js'
import type { CelValue } from './values.js'

/** What a list or map of one value takes. */
const VALUE_BYTES = 16
const MEMBER_BYTES = 64

/** text: where the node is from. @throws CelLimitError beyond the budget. */
export function jsonNodeValue(node: JsonNode, text: string): CelValue {
  charge(1)
  switch (node.type) {
    case 'string':
      return node.value
    case 'object': {
      charge(node.members.size, node.members.size * MEMBER_BYTES)
      const map = new Map<string, CelValue>()
      for (const [name, member] of node.members) map.set(name, jsonNodeValue(member, text))
      return map
    }
    case 'array':
      if (node.isCut === true) return convertText(node, text)
      charge(0, node.items.length * VALUE_BYTES)
      return node.items.map((item) => jsonNodeValue(item, text))
    default:
      return convertText(node, text)
  }
}

function convertText({ start, end }: JsonNode, text: string): CelValue {
  charge((end - start) / 2, (end - start) * VALUE_BYTES)
  return parseJsonText(text.slice(start, end))
}
