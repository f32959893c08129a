// Enforces the order of one phase's headers, body and trailers, and either passes the body on as it arrives or holds it
// until it is complete.

import type { Phase } from '../../ir/proc-entry.js'
import { sendBody, sendTrailers } from '../stream/guard-messages.js'
import type { HeldBytes } from '../stream/held-bytes.js'
import type { BodyPart } from '../stream/process-message.js'
import { type ProcessorStream, UnexpectedMessage } from '../stream/processor.js'
import { createHeldBody, type HeldBody } from './held-body.js'

/**
 * done: nothing more is owed in this phase. refused: likewise, because Gatehouse has answered; later parts are dropped.
 */
type State = 'start' | 'passing' | 'holding' | 'done' | 'refused'

export interface PhaseEvents {
  /** Called when the held body exceeds its limit. */
  tooLarge(): void
  /** Called when all bodies together would exceed their budget. */
  busy(): void
  /** Called when a held body is complete. */
  complete(body: HeldBody, hasTrailers: boolean): Promise<void>
}

export interface PhaseLimits {
  readonly maxBodyBytes: number
  readonly heldBytes: HeldBytes
}

export interface GuardedPhase {
  readonly state: State
  become(state: State): void
  /** Throws UnexpectedMessage unless the headers arrive first. */
  expectHeaders(): void
  body(message: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
}

export function createGuardedPhase(
  phase: Phase,
  stream: ProcessorStream,
  { maxBodyBytes, heldBytes }: PhaseLimits,
  events: PhaseEvents,
): GuardedPhase {
  let state: State = 'start'
  const held = createHeldBody(maxBodyBytes, heldBytes.open())
  const unexpected = (part: string) => new UnexpectedMessage(`${phase} ${part} when ${state}`)

  const become = (next: State): void => {
    state = next
    if (next === 'holding') stream.signal.addEventListener('abort', () => held.drop())
    if (next === 'done' || next === 'refused') held.drop()
  }
  const pass = ({ body, endOfStream }: BodyPart): void => {
    sendBody(stream.send, phase, body, endOfStream)
    if (endOfStream) state = 'done'
  }
  const hold = (piece: Uint8Array): boolean => {
    const outcome = held.add(piece)
    if (outcome === 'too large') events.tooLarge()
    if (outcome === 'busy') events.busy()
    return outcome === 'held'
  }
  const complete = (hasTrailers: boolean): Promise<void> | void =>
    held.prepare() ? events.complete(held, hasTrailers) : events.busy()
  return {
    get state() {
      return state
    },
    become,
    expectHeaders: () => {
      if (state !== 'start') throw unexpected('headers')
    },
    body: (message) => {
      if (state === 'refused') return
      if (state === 'passing') return pass(message)
      if (state !== 'holding') throw unexpected('body')
      return hold(message.body) && message.endOfStream ? complete(false) : undefined
    },
    trailers: () => {
      if (state === 'refused') return undefined
      if (state === 'holding') return complete(true)
      if (state !== 'passing') throw unexpected('trailers')
      state = 'done'
      return sendTrailers(stream.send, phase)
    },
  }
}
