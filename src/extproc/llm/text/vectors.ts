// Texts as tokens or vectors: a request with one is refused, as nobody can tell what it says (decision 19).

import type { JsonNode } from '../../../kit/json/json-node.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import type { Work } from '../../../kit/turns.js'
import type { Source } from './found-text.js'
import { isPlainName, isShaped } from './shapes.js'

const VECTORS: ReadonlySet<string> = new Set(['prompt_embeds', 'input_embeds', 'inputs_embeds'])
const TOKENS: ReadonlySet<string> = new Set([
  'prompt_token_ids',
  'input_ids',
  'token_ids',
  'tokens',
])

/** Whether servers read a member of this name, at any depth of a request, as tokens or vectors. */
export const isPrompt = (name: string): boolean => VECTORS.has(name) || TOKENS.has(name)

/** name: one of isPrompt. @throws UnreadableForm for tokens and vectors. */
export function* expectReadable(name: string, node: JsonNode, json: Source): Work<void> {
  if (VECTORS.has(name) && (yield* holdsVectors(node, json)))
    throw new UnreadableForm(`${name} holds vectors`)
  yield* expectNoTokens(name, node, json)
}

/** Vectors are numbers at any depth, or bytes in base64. */
function* holdsVectors(node: JsonNode, json: Source): Work<boolean> {
  if (json.pace.isDue()) yield
  if (node.type === 'number') return true
  if (node.type === 'string') {
    const isEncoded = isShaped('blob', node.value, json.pace)
    return node.value !== '' && (typeof isEncoded === 'boolean' ? isEncoded : yield* isEncoded)
  }
  if (node.type === 'array' && node.isCut === true) return true
  const inner =
    node.type === 'array' ? node.items : node.type === 'object' ? node.members.values() : []
  for (const value of inner) if (yield* holdsVectors(value, json)) return true
  return false
}

/**
 * name: the member that the value is, or is below.
 * @throws UnreadableForm for a list with numbers at any depth: nobody can tell what tokens or vectors say.
 */
export function* expectNoTokens(name: string, node: JsonNode, json: Source): Work<void> {
  if (json.pace.isDue()) yield
  if (node.type !== 'array') return
  if (node.isCut === true) throw ofNumbers(name)
  for (const item of node.items) {
    if (item.type === 'number') throw ofNumbers(name)
    yield* expectNoTokens(name, item, json)
  }
}

const ofNumbers = (name: string): UnreadableForm =>
  new UnreadableForm(
    `${name !== '' && isPlainName(name) ? name : 'a member'} is a list with numbers, which could be the tokens of a text`,
  )
