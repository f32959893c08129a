// A body that is not JSON, such as a page or the words of a proxy: one text.

import type { JsonText } from '../../../kit/json/json-text.js'
import type { Work } from '../../../kit/turns.js'
import { decodeUtf8InTurns } from '../../../kit/utf8.js'
import type { Conversation, Entry } from './conversation.js'

/** Reads a body as one text; undefined: not UTF-8. */
export function* wordsIn(body: Uint8Array): Work<Omit<Conversation, 'api'> | undefined> {
  const text = yield* decodeUtf8InTurns(body)
  if (text === undefined) return undefined
  const json: JsonText = {
    text,
    root: { type: 'null', start: 0, end: text.length },
    values: 0,
    isWellFormed: true,
  }
  return { json, entries: text.trim() === '' ? [] : [wordsEntry(text, 'assistant')] }
}

/** Returns the entry of a body that is one text. */
export const wordsEntry = (text: string, role: string): Entry => ({
  kind: 'text',
  role,
  content: text,
  form: 'json',
  place: { start: 0, end: text.length },
})
