// The frames of a streamed reply → what is held: each with the event that it says, and an end where one cannot be read.

import type { EventFrame } from '../../llm/framing/frame.js'
import { readStreamEvent } from '../../llm/stream-read.js'
import type { LlmApi } from '../../llm/text/api.js'
import type { HeldReply } from '../../llm/windows/held-reply.js'
import { err, ok, type Result } from '../../result.js'

export interface EventIntake {
  /** The error is a sentence without any text: the reply cannot be read. */
  take(frames: readonly EventFrame[]): Result<undefined, string>
  /** Of the last event; undefined: none told. */
  readonly api: LlmApi | undefined
}

/** passesUnread: from an event that cannot be read on, the rest passes as it is. */
export function createEventIntake(
  held: Pick<HeldReply, 'add' | 'end' | 'problem'>,
  passesUnread: boolean,
): EventIntake {
  let api: LlmApi | undefined
  let isBlind = false

  const takeOne = (frame: EventFrame): Result<undefined, string> => {
    const { data } = frame
    const event = isBlind || data === undefined || isDone(data) ? undefined : readStreamEvent(data)
    if (event?.ok === false && !passesUnread) return event
    if (event?.ok === false) isBlind = true
    if (event?.ok === true) api = event.value.api
    held.add(frame, event?.ok === true ? event.value : undefined)
    if (isBlind || (data !== undefined && isDone(data))) held.end()
    return ok(undefined)
  }
  return {
    get api() {
      return api
    },
    take: (frames) => {
      for (const frame of frames) {
        const taken = takeOne(frame)
        if (!taken.ok) return taken
      }
      const problem = held.problem()
      return problem === undefined ? ok(undefined) : err(problem)
    },
  }
}

/** The last event of OpenAI's streams: nothing is said after it. */
const isDone = (data: string): boolean => data.trim() === '[DONE]'
