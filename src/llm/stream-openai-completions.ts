// A chunk of a streamed OpenAI completion (the old API, without messages).

import type { JsonObjectNode } from './members.js'
import { readChoices } from './stream-choices.js'
import { NOTHING, type Said } from './stream-said.js'

/** root: with choices whose only member of its own is their text. */
export const readCompletionChunk = (json: string, root: JsonObjectNode): Said =>
  readChoices(json, root, new Set(), () => NOTHING)
