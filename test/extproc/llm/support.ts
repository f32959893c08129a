// Reads events of streams for tests, and shows in short what readStreamEvent finds.

import { readStreamEvent } from '../../../src/extproc/llm/stream-read.js'
import { rewriteEvent, type StreamEvent } from '../../../src/extproc/llm/text/stream-event.js'
import {
  type EventFrame,
  type EventFrameReader,
  type FrameSink,
  piecesWithData,
  type Reading,
} from '../../../src/extproc/sse/framing/frame.js'
import { ok, type Result } from '../../../src/kit/result.js'
import { atOnce, Pace } from '../../../src/kit/turns.js'

/** Reads all frames at once; those before an error are in the list that is passed. */
function framesOf(
  read: (take: FrameSink) => Reading,
  frames: EventFrame[],
): Result<readonly EventFrame[], string> {
  const done = atOnce(
    read(function* (frame) {
      frames.push(frame)
      return ok(undefined)
    }),
  )
  return done.ok ? ok(frames) : done
}

export const pushed = (
  reader: EventFrameReader,
  bytes: Uint8Array,
  frames: EventFrame[] = [],
): Result<readonly EventFrame[], string> => framesOf((take) => reader.push(bytes, take), frames)

export const ended = (reader: EventFrameReader): Result<readonly EventFrame[], string> =>
  framesOf((take) => reader.end(take), [])

/** cuts: where the bytes are cut, in any order. */
export function readAll(
  reader: EventFrameReader,
  bytes: Uint8Array,
  cuts: readonly number[] = [],
): EventFrame[] {
  const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length]
  const frames: EventFrame[] = []
  let from = 0
  for (const to of ends.sort((a, b) => a - b)) {
    const read = pushed(reader, bytes.subarray(from, to))
    if (!read.ok) throw new Error(read.error)
    frames.push(...read.value)
    from = to
  }
  const last = ended(reader)
  if (!last.ok) throw new Error(last.error)
  return [...frames, ...last.value]
}

/** The frame's raw text with other data. */
export const withData = (frame: EventFrame, data: string): string =>
  atOnce(piecesWithData(frame, data, new Pace())).join('')

export const readEvent = (data: string): Result<StreamEvent, string> =>
  atOnce(readStreamEvent(data))

export function eventOf(data: unknown): StreamEvent {
  const read = readEvent(typeof data === 'string' ? data : JSON.stringify(data))
  if (!read.ok) throw new Error(read.error)
  return read.value
}

/** "channel: text" for pieces, "channel = text" for repeats; [tool-call] before tool calls. */
export function eventTexts(data: unknown): string[] {
  const { pieces, repeats } = eventOf(data)
  const mark = (kind: string): string => (kind === 'tool-call' ? '[tool-call] ' : '')
  return [
    ...pieces.map(({ kind, channel, text }) => `${mark(kind)}${channel}: ${text}`),
    ...repeats.map(({ kind, channel, text }) => `${mark(kind)}${channel} = ${text}`),
  ]
}

export const endsIn = (data: unknown): readonly string[] => eventOf(data).ends

export function problemOf(data: unknown): string | undefined {
  const read = readEvent(typeof data === 'string' ? data : JSON.stringify(data))
  return read.ok ? undefined : read.error
}

export const rewritten = (...args: Parameters<typeof rewriteEvent>): string =>
  atOnce(rewriteEvent(...args))

/** Each text in upper case; JSON and what is not a letter stays. */
export function shouted(data: unknown): unknown {
  const event = eventOf(data)
  const texts = (said: readonly { readonly text: string }[]): string[] =>
    said.map(({ text }) => text.toUpperCase())
  return JSON.parse(
    rewritten(event, { pieces: texts(event.pieces), repeats: texts(event.repeats) }),
  ) as unknown
}
