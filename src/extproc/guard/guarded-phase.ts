// The order in which one phase's headers, body and trailers may come, and what is done with them: passed on as they
// come, or held until all of the body is there.

import type { HttpBody } from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Phase } from '../../ir/proc-entry.js'
import { bodyMessages, trailersMessage } from '../stream/guard-messages.js'
import { UnexpectedMessage, type ProcessorStream } from '../stream/processor.js'
import { createHeldBody } from './held-body.js'

/** done: nothing of the phase is owed any more. refused: the same, by an answer of ours; what still comes is dropped. */
type State = 'start' | 'passing' | 'holding' | 'done' | 'refused'

export interface PhaseEvents {
  /** What is held is larger than the limit. */
  tooLarge(): void
  /** All of a held body is there. */
  complete(body: Uint8Array, hasTrailers: boolean): Promise<void>
}

export interface GuardedPhase {
  readonly state: State
  become(state: State): void
  /** Throws (UnexpectedMessage) unless the headers are what comes first. */
  expectHeaders(): void
  body(message: HttpBody): Promise<void> | void
  trailers(): Promise<void> | void
}

export function createGuardedPhase(
  phase: Phase,
  stream: ProcessorStream,
  maxBodyBytes: number,
  events: PhaseEvents,
): GuardedPhase {
  let state: State = 'start'
  const held = createHeldBody(maxBodyBytes)
  const unexpected = (part: string) => new UnexpectedMessage(`${phase} ${part} when ${state}`)
  const pass = ({ body, endOfStream }: HttpBody): void => {
    for (const piece of bodyMessages(phase, body, endOfStream)) stream.send(piece)
    if (endOfStream) state = 'done'
  }
  return {
    get state() {
      return state
    },
    become: (next) => {
      state = next
    },
    expectHeaders: () => {
      if (state !== 'start') throw unexpected('headers')
    },
    body: (message) => {
      if (state === 'refused') return
      if (state === 'passing') return pass(message)
      if (state !== 'holding') throw unexpected('body')
      if (!held.add(message.body)) return events.tooLarge()
      return message.endOfStream ? events.complete(held.take(), false) : undefined
    },
    trailers: () => {
      if (state === 'refused') return undefined
      if (state === 'holding') return events.complete(held.take(), true)
      if (state !== 'passing') throw unexpected('trailers')
      state = 'done'
      return stream.send(trailersMessage(phase))
    },
  }
}
