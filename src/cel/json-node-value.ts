// Converts a node of JSON text to a CEL value, counted against the evaluation's budget: a body may be a thousand times
// what an expression should read.

import type { JsonNode } from '../json/json-node.js'
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
