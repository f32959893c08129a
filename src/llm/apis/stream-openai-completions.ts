// A chunk of a streamed OpenAI completion (the old API, without messages).

import type { JsonObjectNode } from '../json/members.js'
import { readChoices } from '../text/stream-choices.js'
import { NOTHING, type Said } from '../text/stream-said.js'

/** root: with choices whose only member of its own is their text. */
export const readCompletionChunk = (json: string, root: JsonObjectNode): Said =>
  readChoices(json, root, new Set(), () => NOTHING)
