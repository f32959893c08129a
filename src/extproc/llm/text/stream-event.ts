// The content of one event of a streamed reply: pieces of texts that continue over many events (decision 20).

import type { Span } from '../../../kit/json/json-node.js'
import { applyEdits, type Edit, type JsonText } from '../../../kit/json/json-text.js'
import { Pace, type Work } from '../../../kit/turns.js'
import type { LlmApi } from './api.js'
import type { CallNames } from './calls.js'
import { type Companion, untold } from './companions.js'
import { changed, type EntryKind } from './conversation.js'
import type { Usage } from './usage.js'

/** A part of a text. The pieces of one channel, in the order of their events, make up one text. */
export interface Piece {
  /** The text that it belongs to, e.g. "0 content": a choice (or item, or block), and what it says there. */
  readonly channel: string
  readonly kind: EntryKind
  readonly role: string
  readonly text: string
  /** Where a change is written, in the event's data. */
  readonly place: Span
  /**
   * json: the place holds JSON itself, not a string; the text is that JSON, and a change must be JSON too. tokens: log
   * probabilities, which a change empties. base64: a string that holds the text in base64, after the prefix.
   */
  readonly form: 'string' | 'json' | 'tokens' | 'base64'
  /** Beginning of a data URL; with form base64. */
  readonly prefix?: string
  /** The whole text of the channel must stay JSON. */
  readonly isJson?: boolean
  /** Places that repeat the text in another form (log probabilities, tokens); emptied on changes in or near it. */
  readonly echoes?: readonly Span[]
  /** The echoes repeat the whole text, and not the piece alone: any change of the text empties them. */
  readonly echoesAll?: boolean
  /** The text is empty, but its echoes contain what its channel says next. It waits for that. */
  readonly isAhead?: boolean
  /** It belongs to a text that another event has begun. */
  readonly continues?: boolean
  /** The index of its choice, where the client asked for one and this is another. */
  readonly choice?: string
  /** What the event calls the call that it belongs to. Another id, or another name without one, begins another call. */
  readonly call?: CallNames
}

/** Whether no later event continues the text. */
export const isWhole = ({ kind, form }: Pick<Piece, 'kind' | 'form'>): boolean =>
  form === 'json' || kind === 'file' || kind === 'definition'

/**
 * A place that says, as a whole, what the pieces of a channel said, and then must say what they became; or a text of
 * its own, which may continue what events before it said at the same place.
 */
export interface Repeat extends Piece {
  /** Index of a piece of the same event that says the same. */
  readonly ofPiece?: number
  /** Many texts, shown as their JSON: nobody could tell how those of two events continue one another. */
  readonly isGathered?: boolean
}

/** The content of one event. */
export interface StreamEvent {
  readonly api: LlmApi
  /** What the event's data calls its type; absent: nothing. */
  readonly type?: string | undefined
  /** The event's data, without the tree, as it may be held for long. */
  readonly json: Pick<JsonText, 'text'>
  /** In the order of their places. */
  readonly pieces: readonly Piece[]
  /** Count as said after the pieces. */
  readonly repeats: readonly Repeat[]
  /**
   * What ends with this event, and need not wait for more: a channel ("0 content"), the first words of several ("0"),
   * or "" for all; read by endedBy(). Repeats may follow; pieces of an ended channel begin a new text.
   */
  readonly ends: readonly string[]
  /** What is true of one text alone, in this event or in those before it. */
  readonly companions: readonly Companion[]
  /** The model and the tokens that it names; undefined: none. */
  readonly usage?: Usage | undefined
}

/** Returns a test for whether a channel ends with these. */
export function endedBy(ends: readonly string[]): (channel: string) => boolean {
  if (ends.length === 0) return () => false
  const all = new Set(ends)
  if (all.has('')) return () => true
  return (channel) => {
    if (all.has(channel)) return true
    for (let at = channel.indexOf(' '); at !== -1; at = channel.indexOf(' ', at + 1))
      if (all.has(channel.slice(0, at))) return true
    return false
  }
}

/**
 * Returns a test for ends that may be none. Some servers send a finish reason with every piece of a choice: only the
 * next event tells if it has finished.
 */
export function claimsOf({ api, pieces, ends }: StreamEvent): (end: string) => boolean {
  if (api === 'openai-responses' || ends.length === 0) return () => false
  const speaking = new Set<string>()
  for (const { channel, text } of pieces)
    if (text !== '') speaking.add(channel.split(' ', 1)[0] ?? '')
  return (end) => /^\d+$/.test(end) && speaking.has(end)
}

/** What the places of an event say now; undefined: no change. */
export interface EventTexts {
  /** One per piece. */
  readonly pieces: readonly (string | undefined)[]
  /** One per repeat. */
  readonly repeats: readonly (string | undefined)[]
  /** Echoes of texts near which something changed. */
  readonly emptied?: readonly Span[]
  /** Companions of texts that changed. */
  readonly untrue?: readonly Companion[]
}

/** Returns the event's data with other texts; the same string if nothing changed. */
export function* rewriteEvent(
  event: Pick<StreamEvent, 'pieces' | 'repeats' | 'json'>,
  texts: EventTexts,
): Work<string> {
  const { text } = event.json
  const { emptied = [], untrue = [] } = texts
  const isSame = (found: readonly (Piece | Repeat)[], now: readonly (string | undefined)[]) =>
    now.every((one, index) => one === undefined || one === found[index]?.text)
  if (
    emptied.length + untrue.length === 0 &&
    isSame(event.pieces, texts.pieces) &&
    isSame(event.repeats, texts.repeats)
  )
    return text
  const edits = new Map<number, Edit>()
  const pace = new Pace()
  const empty = (echo: Span): void => void edits.set(echo.start, { ...echo, json: 'null' })
  function* change(
    all: readonly (Piece | Repeat)[],
    changes: readonly (string | undefined)[],
  ): Work<void> {
    for (const [index, found] of all.entries()) {
      if (pace.isDue()) yield
      const now = changes[index]
      if (now === undefined || now === found.text) continue
      found.echoes?.forEach(empty)
      edits.set(found.place.start, { ...found.place, json: yield* changed(now, found, pace) })
    }
  }
  yield* change(event.pieces, texts.pieces)
  yield* change(event.repeats, texts.repeats)
  emptied.forEach(empty)
  for (const companion of untrue) edits.set(companion.place.start, untold(companion))
  if (edits.size === 0) return text
  return yield* applyEdits(text, [...edits.values()], pace)
}
