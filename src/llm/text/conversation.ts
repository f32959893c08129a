// A body of an LLM API as webhooks see it: one entry per text, with the place that it came from (decision 19).

import type { Span } from '../../json/json-node.js'
import { applyEdits, type Edit, type JsonText } from '../../json/json-text.js'
import { quoted } from '../../json/print-json.js'
import { Pace, type Work } from '../../turns.js'
import type { LlmApi } from './api.js'
import { base64Of } from './text-file.js'

/**
 * text: always shown. tool-call: shown where inspectToolCalls asks for it, in streams whole, never in windows (decision
 * 19a). definition: where inspectTools does. file: where inspectFiles does.
 */
export type EntryKind = 'text' | 'tool-call' | 'definition' | 'file'

/** One text of a body. */
export interface Entry {
  readonly kind: EntryKind
  readonly role: string
  readonly content: string
  /** Where a change is written; absent: it cannot be changed, as a message without text, or an id. */
  readonly place?: Span
  /**
   * json: the place holds what is shown, not a string: JSON (isJson is then true), or the words of a body that is none.
   * tokens: log probabilities, which cannot contain another text; a change empties them. base64: a string that holds the
   * text in base64, after the prefix. Absent: string.
   */
  readonly form?: 'string' | 'json' | 'tokens' | 'base64'
  /** Beginning of a data URL; with form base64. */
  readonly prefix?: string
  /** The content must stay JSON. */
  readonly isJson?: boolean
  /** Places that repeat the text in another form (log probabilities, tokens); emptied when it changes. */
  readonly echoes?: readonly Span[]
}

/** A body and its texts. */
export interface Conversation {
  readonly api: LlmApi
  readonly json: JsonText
  readonly entries: readonly Entry[]
}

/** Returns the body with these contents, one per entry; its own text when nothing changed. */
export function* rewrite(
  { json, entries }: Conversation,
  contents: readonly string[],
): Work<string> {
  const pace = new Pace()
  const edits = yield* editsOf(entries, contents, pace)
  if (edits.length === 0) return json.text
  return yield* applyEdits(json.text, edits, pace)
}

/** Returns the edits that write the changed contents back, one per place. contents: one per entry. */
export function* editsOf(
  entries: readonly Entry[],
  contents: readonly string[],
  pace: Pace,
): Work<readonly Edit[]> {
  const edits = new Map<number, Edit>()
  for (const [index, entry] of entries.entries()) {
    if (pace.isDue()) yield
    const content = contents[index] ?? entry.content
    if (content === entry.content || entry.place === undefined) continue
    edits.set(entry.place.start, { ...entry.place, json: yield* changed(content, entry, pace) })
    for (const echo of entry.echoes ?? []) edits.set(echo.start, { ...echo, json: 'null' })
  }
  return [...edits.values()]
}

/** Returns what replaces a text, by the form of its place. */
export function* changed(
  text: string,
  { form, prefix = '' }: Pick<Entry, 'form' | 'prefix'>,
  pace: Pace,
): Work<string> {
  if (form === 'tokens') return 'null'
  if (form === 'base64') return `"${prefix}${yield* base64Of(text, pace)}"`
  return form === 'json' ? text : yield* quoted(text, pace)
}
