// OpenAI embeddings ↔ entries: the texts to embed. A reply holds vectors, and no text.

import type { Entry } from '../text/conversation.js'
import { textEntry } from '../text/entries.js'
import type { JsonNode } from '../json/json-text.js'
import { asArray, asObject, asString, expectNoText, type JsonObjectNode } from '../json/members.js'

/** input: a string or strings. Lists of tokens are lists of numbers: not strings. */
export function readEmbeddingsInput(input: JsonNode): readonly Entry[] {
  const texts = input.type === 'string' ? [input] : asArray(input, 'input').items
  return texts.map((text) => textEntry(asString(text, 'an input'), 'user'))
}

/**
 * body: with data.
 * @throws UnreadableForm when something in it could be text.
 */
export function readEmbeddingsReply(body: JsonObjectNode): readonly Entry[] {
  for (const item of asArray(body.members.get('data'), 'data').items)
    for (const [name, value] of asObject(item, 'an embedding').members)
      if (name !== 'embedding' || value.type === 'object') expectNoText(value, 'an embedding', name)
  for (const [name, value] of body.members)
    if (name !== 'data') expectNoText(value, 'a reply with embeddings', name)
  return []
}
