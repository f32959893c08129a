// What one event of a streamed reply says: pieces of texts that go on over many events (decision 20).

import type { LlmApi } from './api.js'
import type { JsonText, Span } from './json-text.js'

/** A part of a text. Pieces of one channel, in the order of their events, are one text. */
export interface Piece {
  /** Which text it belongs to, e.g. "0 content": a choice (or item, or block) and what it says there. */
  readonly channel: string
  /** tool-call: shown where inspectToolCalls says so, whole, never in windows (decision 19a). */
  readonly kind: 'text' | 'tool-call'
  readonly role: string
  readonly text: string
  /** Where a change is written, in the event's data. */
  readonly place: Span
  /** The whole text of the channel must stay JSON. */
  readonly isJson?: boolean
  /** Places that repeat the text in another form (log probabilities): emptied when it changes. */
  readonly echoes?: readonly Span[]
}

/** A place that says again, whole, what the pieces of a channel said: it must say what they became. */
export interface Repeat extends Omit<Piece, 'text' | 'echoes'> {
  /** Should it not be what the channel said, it is a text of its own, to be inspected. */
  readonly text: string
}

export interface StreamEvent {
  readonly api: LlmApi
  readonly json: JsonText
  /** In the order of their places. */
  readonly pieces: readonly Piece[]
  readonly repeats: readonly Repeat[]
  /** Channels that say nothing after this event; what is held of them need not wait for more. */
  readonly ends: readonly string[]
}
