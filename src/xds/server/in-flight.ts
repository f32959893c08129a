// Unanswered responses of one type on one stream, by nonce, in the order sent.

import type { EncodedResource } from '../encode/encode.js'

/** A response, as it was sent. */
export interface SentResponse {
  readonly nonce: string
  readonly version: string
  readonly resources: readonly EncodedResource[]
  readonly removed: readonly string[]
}

/** A resource that was sent and not acknowledged yet. */
export interface SentChange {
  /** The version sent. */
  readonly version: string
  /** Whether Envoy had no version of it before. */
  readonly isNew: boolean
  /** What Envoy had before, if known. */
  readonly before?: EncodedResource
}

/** Changed resources by name. */
export type ChangedResources = ReadonlyMap<string, SentChange>

/** A response that was sent and not acknowledged yet. */
export interface InFlight {
  readonly version: string
  readonly sentAt: number
  /** Computed on demand, as usually nobody asks for the thousands of changes. */
  readonly changed: () => ChangedResources
  readonly removed: readonly string[]
}

// An incremental client may have several responses unanswered; this limits the memory for one that answers none.
const MAX_IN_FLIGHT = 64

/** The unanswered responses of one type on one stream. */
export class InFlightResponses {
  readonly #byNonce = new Map<string, InFlight>()

  get size(): number {
    return this.#byNonce.size
  }

  /** When the last unanswered response was sent, by performance.now(). */
  get lastSentAt(): number | undefined {
    return [...this.#byNonce.values()].at(-1)?.sentAt
  }

  /** Names of the resources in all unanswered responses. */
  *names(): Iterable<string> {
    for (const { changed } of this.#byNonce.values()) yield* changed().keys()
  }

  add(nonce: string, response: InFlight): void {
    this.#byNonce.set(nonce, response)
    for (const old of this.#byNonce.keys())
      if (this.#byNonce.size > MAX_IN_FLIGHT) this.#byNonce.delete(old)
  }

  /**
   * Removes and returns the response with this nonce; undefined if none is waiting. Envoy answers in order, so earlier
   * unanswered responses are settled with it.
   */
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
