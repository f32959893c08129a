// A body of an LLM API as webhooks see it: one entry per text, with the place that it came from (decision 19).

import type { Span } from '../../../kit/json/json-node.js'
import { applyEdits, type Edit, type JsonText } from '../../../kit/json/json-text.js'
import { quoted } from '../../../kit/json/print-json.js'
import { Pace, type Work } from '../../../kit/turns.js'
import type { LlmApi } from './api.js'
import { type Companion, untold, untrueOf } from './companions.js'
import { firstWhere } from './first-where.js'
import { blocksOf } from './signed-blocks.js'
import { base64Of } from './text-file.js'

/**
 * text: always shown. tool-call: shown where inspectToolCalls asks for it, in streams whole, never in windows (decision
 * 19a). definition: where inspectTools does. file: where inspectFiles does.
 */
export type EntryKind = 'text' | 'tool-call' | 'definition' | 'file'

/** Where a text is among those of one message. */
export interface EntryPart {
  /** Number of the message, counted over those of the body, or the choices of a reply; from 0. */
  readonly message: number
  /** Position among the texts of the message; from 0. */
  readonly index: number
  /** Number of the texts of the message; at least 2. */
  readonly of: number
}

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
  /** Absent: it is the only text of its message, or of no message. */
  readonly part?: EntryPart
}

/** A body and its texts. */
export interface Conversation {
  readonly api: LlmApi
  readonly json: JsonText
  readonly entries: readonly Entry[]
  /** What is true of one text alone; absent: nothing is. */
  readonly companions?: readonly Companion[]
}

/**
 * Returns the body with these contents, one per entry; its own text when nothing changed. What a change makes untrue
 * goes too: a signature, with the whole thought in a request, and offsets. phase: that of the body.
 */
export function* rewrite(
  conversation: Conversation,
  contents: readonly string[],
  phase: 'request' | 'response' = 'response',
): Work<string> {
  const { json, entries, companions = [] } = conversation
  const pace = new Pace()
  const edits = yield* editsOf(entries, contents, pace)
  const untrue = yield* untrueBy(edits, conversation, pace)
  const blocks = blocksOf(json.root, pace)
  const others: Edit[] = []
  // A client sends a thought again whose signature Gatehouse has taken out of a reply.
  const stale = phase === 'request' ? companions.filter(isTakenOut) : []
  for (const companion of [...untrue, ...stale]) {
    if (pace.isDue()) yield
    const isSigned = phase === 'request' && companion.kind === 'signature'
    if (isSigned && (yield* blocks.isThought(companion.object)))
      yield* blocks.leaveOut(companion.object)
    else others.push(untold(companion))
  }
  const gone = blocks.edits()
  const all = [
    ...edits,
    ...others.filter(({ json: now, start, end }) => json.text.slice(start, end) !== now),
  ]
    .filter((edit) => !isIn(edit, gone))
    .concat(gone)
  return all.length === 0 ? json.text : yield* applyEdits(json.text, all, pace)
}

/** Whether these contents change a text that its provider has signed. */
export function* changesSigned(
  conversation: Conversation,
  contents: readonly string[],
): Work<boolean> {
  const pace = new Pace()
  const edits = yield* editsOf(conversation.entries, contents, pace)
  const untrue = yield* untrueBy(edits, conversation, pace)
  return untrue.some(({ kind }) => kind === 'signature')
}

const untrueBy = (
  edits: readonly Edit[],
  { companions = [] }: Conversation,
  pace: Pace,
): Work<readonly Companion[]> =>
  untrueOf(
    companions,
    edits.toSorted((a, b) => a.start - b.start),
    pace,
  )

const isTakenOut = ({ kind, place }: Companion): boolean =>
  kind === 'signature' && place.end - place.start === '""'.length

/** gone: in order. */
function isIn({ start }: Span, gone: readonly Span[]): boolean {
  const around = gone[firstWhere(gone, ({ end }) => end > start)]
  return around !== undefined && around.start <= start
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
