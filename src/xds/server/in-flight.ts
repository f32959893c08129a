// Responses of one type that one stream was sent and has not answered, by nonce, in the order sent.

import type { EncodedResource } from '../encode/encode.js'

export interface SentChange {
  /** Sent. */
  readonly version: string
  /** Envoy had no version of it before. */
  readonly isNew: boolean
  /** What Envoy had, where that is known. */
  readonly before?: EncodedResource
}

/** By name. */
export type ChangedResources = ReadonlyMap<string, SentChange>

export interface InFlight {
  readonly version: string
  readonly sentAt: number
  /** Made when somebody asks: of thousands nobody does, as a rule. */
  readonly changed: () => ChangedResources
  readonly removed: readonly string[]
}

// An incremental client may be owed several responses at once; one that answers none is not worth more memory.
const MAX_IN_FLIGHT = 64

export class InFlightResponses {
  readonly #byNonce = new Map<string, InFlight>()

  get size(): number {
    return this.#byNonce.size
  }

  /** When the last response was sent that is not answered yet, by performance.now(). */
  get lastSentAt(): number | undefined {
    return [...this.#byNonce.values()].at(-1)?.sentAt
  }

  /** Of the resources in all of them. */
  *names(): Iterable<string> {
    for (const { changed } of this.#byNonce.values()) yield* changed().keys()
  }

  add(nonce: string, response: InFlight): void {
    this.#byNonce.set(nonce, response)
    for (const old of this.#byNonce.keys())
      if (this.#byNonce.size > MAX_IN_FLIGHT) this.#byNonce.delete(old)
  }

  /** Envoy answers in order: what was sent before and not answered is settled with it. undefined: it is not waited for. */
  take(nonce: string): InFlight | undefined {
    const answered = this.#byNonce.get(nonce)
    if (answered === undefined) return undefined
    const earlier: InFlight[] = []
    for (const [other, response] of [...this.#byNonce]) {
      this.#byNonce.delete(other)
      if (other === nonce) break
      earlier.push(response)
    }
    if (earlier.length === 0) return answered
    const changed = new Map(answered.changed())
    for (const response of earlier)
      for (const [name, change] of response.changed())
        if (!changed.has(name)) changed.set(name, change)
    return { ...answered, changed: () => changed }
  }
}
