// Reads the frames of a streamed reply as events and adds both to what is held. An unreadable event ends the reply
// or, if it may pass unread, only the inspection.

import { ok } from '../../kit/result.js'
import { type Pace, unitsOf } from '../../kit/turns.js'
import { EventReader } from '../llm/event-reader.js'
import { isExcess } from '../llm/excess.js'
import type { ReadAs } from '../llm/stream-read.js'
import type { LlmApi } from '../llm/text/api.js'
import type { StreamEvent } from '../llm/text/stream-event.js'
import type { Usage } from '../llm/text/usage.js'
import type { EventFrame, FrameSink, Reading } from './framing/frame.js'
import type { HeldReply } from './windows/held-reply.js'

/** Takes frames and holds their events. */
export interface EventIntake {
  /** The error is a sentence without any text: the reply cannot be read. */
  readonly take: FrameSink
  /** Returns the API of the last event that was read; undefined: none yet. */
  api(): LlmApi | undefined
}

interface IntakeOptions {
  /** Whether the rest passes unchanged from the first event that has no known form. */
  readonly passesUnread: boolean
  readonly readAs: ReadAs
}

/** onUsage: called with what events say about their model and tokens. */
export function createEventIntake(
  held: Pick<HeldReply, 'add' | 'end'>,
  { passesUnread, readAs }: IntakeOptions,
  onUsage: (api: LlmApi, usage: Usage) => void,
): EventIntake {
  let api: LlmApi | undefined
  let last: Usage | undefined
  let isBlind = false
  const events = new EventReader(readAs)

  const noteUsage = ({ api: own, usage }: StreamEvent): void => {
    // Events that differ in a text alone share it.
    if (usage === undefined || usage === last) return
    last = usage
    onUsage(own, usage)
  }

  function* take(frame: EventFrame, pace: Pace): Reading {
    const { data } = frame
    if (pace.isDue(unitsOf(frame.raw.length))) yield
    const isLast = data !== undefined && isDone(data)
    const isRead = !isBlind && data !== undefined && !isLast
    const event = isRead ? yield* events.read(data) : undefined
    if (event?.ok === false && (!passesUnread || isExcess(event.error))) return event
    if (event?.ok === false) isBlind = true
    if (event?.ok === true) api = event.value.api
    if (event?.ok === true) noteUsage(event.value)
    yield* held.add(frame, event?.ok === true ? event.value : undefined, pace)
    if (isBlind || isLast) held.end()
    return ok(undefined)
  }
  return {
    api: () => api,
    take,
  }
}

/** Whether this is the last event of OpenAI's streams: no text follows it. */
const isDone = (data: string): boolean =>
  data.length <= MOST_AROUND_DONE && data.trim() === '[DONE]'
const MOST_AROUND_DONE = 1024
