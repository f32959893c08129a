// Enforces the order of one phase's headers, body and trailers, and either passes the body on as it arrives or holds it
// until it is complete.

import type { Phase } from '../../model/proc-entry.js'
import { sendBody, sendTrailers } from '../session/guard-messages.js'
import type { HeldBytes } from '../session/held-bytes.js'
import type { BodyPart } from '../session/process-message.js'
import { type ProcessorStream, UnexpectedMessage } from '../session/processor.js'
import { createHeldBody, type HeldBody } from './held-body.js'

/**
 * done: nothing more is owed in this phase. refused: likewise, because Gatehouse has answered; later parts are dropped.
 */
type State = 'start' | 'passing' | 'holding' | 'done' | 'refused'

/** Called as a phase proceeds. */
export interface PhaseEvents {
  /** Called when the held body exceeds its limit. */
  tooLarge(): void
  /** Called when all bodies together would exceed their budget. */
  busy(): void
  /** Called when a held body is complete. */
  complete(body: HeldBody, hasTrailers: boolean): Promise<void>
}

/** Limits of a held body. */
export interface PhaseLimits {
  readonly maxBodyBytes: number
  readonly heldBytes: HeldBytes
  /** Whether nothing is made of a complete body, so that it needs no room beside its bytes. */
  readonly isOnlyHeld?: true
}

/** One phase of a guarded exchange. */
export interface GuardedPhase {
  readonly state: State
  become(state: State): void
  /** Throws UnexpectedMessage unless the headers arrive first. */
  expectHeaders(): void
  body(message: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
}

/** Creates a phase that has not begun. */
export const createGuardedPhase = (
  phase: Phase,
  stream: ProcessorStream,
  limits: PhaseLimits,
  events: PhaseEvents,
): GuardedPhase => new OrderedPhase(phase, stream, limits, events)

/** A class, because every guarded request makes two, and a getter in an object literal is slow to create. */
class OrderedPhase implements GuardedPhase {
  state: State = 'start'
  readonly #held: HeldBody

  constructor(
    private readonly phase: Phase,
    private readonly stream: ProcessorStream,
    private readonly limits: PhaseLimits,
    private readonly events: PhaseEvents,
  ) {
    this.#held = createHeldBody(limits.maxBodyBytes, limits.heldBytes.open())
  }

  become(next: State): void {
    this.state = next
    if (next === 'holding') this.stream.signal.addEventListener('abort', () => this.#held.drop())
    if (next === 'done' || next === 'refused') this.#held.drop()
  }

  expectHeaders(): void {
    if (this.state !== 'start') throw this.#unexpected('headers')
  }

  body(message: BodyPart): Promise<void> | void {
    if (this.state === 'refused') return
    if (this.state === 'passing') return this.#pass(message)
    if (this.state !== 'holding') throw this.#unexpected('body')
    return this.#holds(message.body) && message.endOfStream ? this.#complete(false) : undefined
  }

  trailers(): Promise<void> | void {
    if (this.state === 'refused') return undefined
    if (this.state === 'holding') return this.#complete(true)
    if (this.state !== 'passing') throw this.#unexpected('trailers')
    this.state = 'done'
    return sendTrailers(this.stream.send, this.phase)
  }

  #pass({ body, endOfStream }: BodyPart): void {
    sendBody(this.stream.send, this.phase, body, endOfStream)
    if (endOfStream) this.state = 'done'
  }

  #holds(piece: Uint8Array): boolean {
    const outcome = this.#held.add(piece)
    if (outcome === 'too large') this.events.tooLarge()
    if (outcome === 'busy') this.events.busy()
    return outcome === 'held'
  }

  #complete(hasTrailers: boolean): Promise<void> | void {
    const hasRoom = this.limits.isOnlyHeld === true || this.#held.prepare()
    return hasRoom ? this.events.complete(this.#held, hasTrailers) : this.events.busy()
  }

  #unexpected(part: string): UnexpectedMessage {
    return new UnexpectedMessage(`${this.phase} ${part} when ${this.state}`)
  }
}
