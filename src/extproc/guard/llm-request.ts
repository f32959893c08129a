// The body of a guarded request → llmRequest in expressions: each member converted when one reads it, and counted
// against its budget, as a body may be a thousand times what an expression should look at.

import type { MemberValue } from '../../cel/attributes.js'
import { charge } from '../../cel/budget.js'
import { parseJsonText } from '../../cel/json-text.js'
import type { CelValue } from '../../cel/values.js'
import type { JsonNode } from '../../json/json-node.js'
import type { JsonText } from '../../json/json-text.js'

export function llmRequestValue({ text, root }: JsonText): MemberValue {
  const convert = (node: JsonNode): CelValue => convertNode(node, text)
  return {
    celValue: () => convert(root),
    member(name) {
      const node = root.type === 'object' ? root.members.get(name) : undefined
      return node === undefined ? undefined : convert(node)
    },
  }
}

/** What a list or map of one value takes. */
const VALUE_BYTES = 16
const MEMBER_BYTES = 64

function convertNode(node: JsonNode, text: string): CelValue {
  charge(1)
  switch (node.type) {
    case 'string':
      return node.value
    case 'object': {
      charge(node.members.size, node.members.size * MEMBER_BYTES)
      const map = new Map<string, CelValue>()
      for (const [name, member] of node.members) map.set(name, convertNode(member, text))
      return map
    }
    case 'array':
      if (node.isCut === true) return convertText(node, text)
      charge(0, node.items.length * VALUE_BYTES)
      return node.items.map((item) => convertNode(item, text))
    default:
      return convertText(node, text)
  }
}

function convertText({ start, end }: JsonNode, text: string): CelValue {
  charge((end - start) / 2, (end - start) * VALUE_BYTES)
  return parseJsonText(text.slice(start, end))
}
