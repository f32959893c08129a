// Log probabilities → the text that they are of.

import type { JsonNode } from '../json/json-text.js'

/** The tokens that were said, put together; alternatives to them are not. */
export function tokensIn(node: JsonNode, name = ''): string {
  if (node.type === 'string') return name === 'token' || name === 'tokens' ? node.value : ''
  if (node.type === 'array') return node.items.map((item) => tokensIn(item, name)).join('')
  if (node.type !== 'object') return ''
  return [...node.members]
    .filter(([inner]) => !inner.startsWith('top'))
    .map(([inner, value]) => tokensIn(value, inner))
    .join('')
}
