// Parses JSON whose names of members matter. V8 12.8 to 14.6 may read a name that ends with an escape, such as
// "group\u0073", as one that ends with a backslash instead, once JSON.parse has met such a name in a text of anybody's
// (nodejs/node#63785): a claim would be missing, and a rule that denies by it would not.

import type { JsonNode } from './json-node.js'
import { readJsonText } from './json-text.js'

/**
 * Returns the value of the text, like JSON.parse.
 * @throws SyntaxError, also if names with escapes are there and one name is there twice.
 */
export function parseNamed(text: string): unknown {
  if (!hasEscapedName(text)) return JSON.parse(text)
  const read = readJsonText(text)
  if (!read.ok) throw new SyntaxError(read.error)
  return valueOf(read.value.root, text)
}

const [BACKSLASH, COLON, QUOTE] = ['\\', ':', '"']
const OTHER_THAN_SPACE = /[^ \t\r\n]/g

/** Whether the name of a member has an escape. Only strings have backslashes in JSON; what is no JSON has any answer. */
function hasEscapedName(text: string): boolean {
  let at = text.indexOf(BACKSLASH)
  while (at >= 0) {
    while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1
    OTHER_THAN_SPACE.lastIndex = at + 1
    if (OTHER_THAN_SPACE.exec(text)?.[0] === COLON) return true
    at = text.indexOf(BACKSLASH, at + 1)
  }
  return false
}

function valueOf(node: JsonNode, text: string): unknown {
  switch (node.type) {
    case 'string':
      return node.value
    case 'object':
      // Creates own members, also one that is called __proto__.
      return Object.fromEntries(
        [...node.members].map(([name, value]) => [name, valueOf(value, text)]),
      )
    case 'array':
      if (node.isCut !== true) return node.items.map((item) => valueOf(item, text))
      break
    default:
  }
  // Scalars, or a list of nothing else.
  return JSON.parse(text.slice(node.start, node.end))
}
