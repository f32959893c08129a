// Events of streams for the tests, and what readStreamEvent finds in them, in short.

import { readStreamEvent } from '../../src/llm/stream-read.js'
import { rewriteEvent, type StreamEvent } from '../../src/llm/text/stream-event.js'

export function eventOf(data: unknown): StreamEvent {
  const read = readStreamEvent(typeof data === 'string' ? data : JSON.stringify(data))
  if (!read.ok) throw new Error(read.error)
  return read.value
}

/** "channel: text" for pieces, "channel = text" for repeats; [tool-call] before tool calls. */
export function saidIn(data: unknown): string[] {
  const { pieces, repeats } = eventOf(data)
  const mark = (kind: string): string => (kind === 'tool-call' ? '[tool-call] ' : '')
  return [
    ...pieces.map(({ kind, channel, text }) => `${mark(kind)}${channel}: ${text}`),
    ...repeats.map(({ kind, channel, text }) => `${mark(kind)}${channel} = ${text}`),
  ]
}

export const endsIn = (data: unknown): readonly string[] => eventOf(data).ends

export function problemOf(data: unknown): string | undefined {
  const read = readStreamEvent(typeof data === 'string' ? data : JSON.stringify(data))
  return read.ok ? undefined : read.error
}

/** Each text in upper case; JSON and what is not a letter stays. */
export function shouted(data: unknown): unknown {
  const event = eventOf(data)
  const texts = (said: readonly { readonly text: string }[]): string[] =>
    said.map(({ text }) => text.toUpperCase())
  return JSON.parse(
    rewriteEvent(event, { pieces: texts(event.pieces), repeats: texts(event.repeats) }),
  ) as unknown
}
