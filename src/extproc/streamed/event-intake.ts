// The frames of a streamed reply → what is held: each with the event that it says, and an end where one cannot be read.

import { EventReader } from '../../llm/event-reader.js'
import type { EventFrame, FrameSink, Reading } from '../../llm/framing/frame.js'
import type { LlmApi } from '../../llm/text/api.js'
import type { HeldReply } from '../../llm/windows/held-reply.js'
import { ok } from '../../result.js'
import { type Pace, unitsOf } from '../../turns.js'

export interface EventIntake {
  /** The error is a sentence without any text: the reply cannot be read. */
  readonly take: FrameSink
  /** Of the last event; undefined: none told. */
  readonly api: LlmApi | undefined
}

/** passesUnread: from an event that cannot be read on, the rest passes as it is. */
export function createEventIntake(
  held: Pick<HeldReply, 'add' | 'end'>,
  passesUnread: boolean,
): EventIntake {
  let api: LlmApi | undefined
  let isBlind = false
  const events = new EventReader()

  function* take(frame: EventFrame, pace: Pace): Reading {
    const { data } = frame
    if (pace.isDue(unitsOf(frame.raw.length))) yield
    const isLast = data !== undefined && isDone(data)
    const isRead = !isBlind && data !== undefined && !isLast
    const event = isRead ? yield* events.read(data) : undefined
    if (event?.ok === false && !passesUnread) return event
    if (event?.ok === false) isBlind = true
    if (event?.ok === true) api = event.value.api
    yield* held.add(frame, event?.ok === true ? event.value : undefined, pace)
    if (isBlind || isLast) held.end()
    return ok(undefined)
  }
  return {
    get api() {
      return api
    },
    take,
  }
}

/** The last event of OpenAI's streams: nothing is said after it. */
const isDone = (data: string): boolean =>
  data.length <= MOST_AROUND_DONE && data.trim() === '[DONE]'
const MOST_AROUND_DONE = 1024
