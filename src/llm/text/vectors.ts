// Texts as tokens or vectors: a request with one is refused, as nobody can tell what it says (decision 19).

import type { JsonNode } from '../../json/json-node.js'
import { UnreadableForm } from '../../json/unreadable-form.js'
import type { Work } from '../../turns.js'
import type { Source } from './found-text.js'

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
  if (VECTORS.has(name) && node.type !== 'null') throw ofVectors('prompt')
  yield* expectNoTokens(node, json)
}

/** @throws UnreadableForm for a list with numbers at any depth: nobody can tell what tokens or vectors say. */
export function* expectNoTokens(node: JsonNode, json: Source): Work<void> {
  if (json.pace.isDue()) yield
  if (node.type !== 'array') return
  if (node.isCut === true) throw ofVectors('text')
  for (const item of node.items) {
    if (item.type === 'number') throw ofVectors('text')
    yield* expectNoTokens(item, json)
  }
}

/** Returns the error of a text that is not written as one. */
export const ofVectors = (what: 'prompt' | 'text'): UnreadableForm =>
  new UnreadableForm(`a ${what} is of vectors or tokens`)
