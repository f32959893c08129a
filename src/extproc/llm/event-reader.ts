// Reads the events of a streamed reply. In a chat, nearly all of them differ from the previous one in a single text;
// then only that text is read.

import { ownPart } from '../../kit/own-text.js'
import { ok, type Result } from '../../kit/result.js'
import type { Work } from '../../kit/turns.js'
import { READ_TEXTS, readStreamEvent } from './stream-read.js'
import type { Piece, StreamEvent } from './text/stream-event.js'

/** An event that may recur with another text. */
interface Pattern {
  /** The data before the text, including the opening quote. */
  readonly before: string
  /** The data after the text, from the closing quote on. */
  readonly after: string
  readonly event: StreamEvent
  readonly piece: Piece
}

/** Maximum length of an event that is compared; longer ones are always read. */
const MOST_CHARACTERS = 4096

/** Text that JSON contains unescaped: exchanging it changes only this string of the JSON. */
const PLAIN = /^[^"\\\x00-\x1f]+$/

/** Channel of a choice's content. Nothing else of its event depends on that text, as long as there is one. */
const CONTENT = /^\S+ content$/

/** Reads the events of one streamed reply. */
export class EventReader {
  #last: Pattern | undefined

  constructor(private readonly readAs = READ_TEXTS) {}

  /** data: of one event other than "[DONE]". The error is a sentence without any text of it. */
  *read(data: string): Work<Result<StreamEvent, string>> {
    const known = this.#last && another(this.#last, data)
    if (known !== undefined) return ok(known)
    const event = yield* readStreamEvent(data, this.readAs)
    this.#last = event.ok ? patternOf(event.value) : undefined
    return event
  }
}

function another({ before, after, event, piece }: Pattern, data: string): StreamEvent | undefined {
  const end = data.length - after.length
  if (data.length > MOST_CHARACTERS || end <= before.length) return undefined
  if (!data.startsWith(before) || !data.endsWith(after)) return undefined
  const text = ownPart(data.slice(before.length, end), data)
  if (!PLAIN.test(text)) return undefined
  const place = { start: before.length - 1, end: end + 1 }
  const { api, type, repeats, ends, companions, usage } = event
  const json = { text: data }
  return { api, type, json, pieces: [{ ...piece, text, place }], repeats, ends, companions, usage }
}

function patternOf(event: StreamEvent): Pattern | undefined {
  const { api, pieces, repeats } = event
  const data = event.json.text
  const [piece, ...others] = pieces
  // The pattern is kept after its event has left, so a longer one is none.
  if (data.length > MOST_CHARACTERS) return undefined
  if (piece === undefined || others.length > 0 || repeats.length > 0) return undefined
  if (event.companions.length > 0) return undefined
  const { channel, kind, form, echoes, isAhead, isJson, place, text } = piece
  if (api !== 'openai-chat' || !CONTENT.test(channel) || kind !== 'text') return undefined
  if (form !== 'string' || echoes !== undefined || isAhead === true || isJson === true)
    return undefined
  const [start, end] = [place.start + 1, place.end - 1]
  if (!PLAIN.test(text) || data.slice(start, end) !== text) return undefined
  return { before: data.slice(0, start), after: data.slice(end), event, piece }
}
