// The connections to one webhook, by target. After a change of its endpoints or TLS, streams that began before it still
// call the old target while others call the new one; the limit of connections holds for both together. A call that waited
// goes to the endpoints that the webhook has by then, but only as its own policy trusts them.

import { setMaxListeners } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import type { RemoteTarget } from '../../model/remote-target.js'
import type { Connecting } from './connect/connect.js'
import type { PooledCall } from './webhook-call.js'
import { WebhookPool } from './webhook-connections.js'

/** The open connections to a webhook. */
export interface OpenConnections {
  /** Closes idle connections until at most `most` are open; resolves when they are closed. */
  trim(most: number): Promise<void>
}

interface Place {
  target: RemoteTarget
  readonly pool: WebhookPool
  readonly connecting: AbortController
}

/** How many changes of a webhook's TLS are told apart while calls wait; beyond that a call goes to its own endpoints. */
const MOST_TRUSTS = 4

/** The connections to the targets of one webhook. The caller limits how many calls run at once. */
export class WebhookTargets implements OpenConnections {
  #places: readonly Place[] = []
  /** The last target that was called with each TLS, the newest at the end. */
  #latest: readonly RemoteTarget[] = []
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  /** max: connections to all targets together; 0: no limit. */
  constructor(
    private readonly max: number,
    private readonly deps: Connecting,
  ) {}

  /** Notes where a new call goes, so that those which wait follow it. */
  note({ target }: PooledCall): void {
    if (this.#latest.at(-1) === target) return
    const others = this.#latest.filter((one) => !isTrustEqual(one, target))
    this.#latest = [...others, target].slice(-MOST_TRUSTS)
  }

  /** Returns the connections for a call that starts now. */
  poolFor(call: PooledCall): WebhookPool {
    const target = this.#latest.find((one) => isTrustEqual(one, call.target)) ?? call.target
    const own = this.#placeFor(call, target)
    if (this.#places.length > 1) this.#makeRoom(own)
    return own.pool
  }

  async trim(most: number): Promise<void> {
    await closeSurplus(this.#places, sizeOf(this.#places) - most)
  }

  /** Ends the calls under way. Resolves when no socket is left. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const { connecting, pool } of this.#places) {
      connecting.abort()
      this.#awaitEnd(pool.destroy())
    }
    await Promise.all(this.#closing)
  }

  #placeFor(call: PooledCall, target: RemoteTarget): Place {
    const known = this.#places.find((place) => isSamePlace(place.target, target))
    if (known === undefined) return this.#addPlace({ ...call, target })
    // The next call has the same object, which is compared at once.
    known.target = target
    return known
  }

  #addPlace(call: PooledCall): Place {
    const connecting = new AbortController()
    // Each connection attempt adds a listener.
    setMaxListeners(0, connecting.signal)
    // A call that waited starts as those before it are ended.
    if (this.#isClosed) connecting.abort()
    const { target } = call
    const place = { target, connecting, pool: new WebhookPool(call, this.deps, connecting.signal) }
    this.#places = [...this.#places, place]
    return place
  }

  /** Drops the other targets without a call, and closes what the limit leaves no room for beside a new connection. */
  #makeRoom(own: Place): void {
    const isKept = (place: Place): boolean => place === own || place.pool.size > place.pool.idleSize
    const dropped = this.#places.filter((place) => !isKept(place))
    this.#places = this.#places.filter(isKept)
    for (const { pool } of dropped) this.#awaitEnd(pool.close())
    if (this.max === 0) return
    const others = this.#places.filter((place) => place !== own)
    const fresh = own.pool.idleSize === 0 ? 1 : 0
    void closeSurplus(others, sizeOf(this.#places) + fresh - this.max)
  }

  #awaitEnd(end: Promise<void>): void {
    const ended = end.finally(() => this.#closing.delete(ended))
    this.#closing.add(ended)
  }
}

const sizeOf = (places: readonly Place[]): number =>
  places.reduce((sum, { pool }) => sum + pool.size, 0)

/** Closes so many idle connections, as far as there are; those of the target known for longest first. */
async function closeSurplus(places: readonly Place[], surplus: number): Promise<void> {
  let left = Math.max(0, surplus)
  const closed = places.map(({ pool }) => {
    const count = Math.min(left, pool.idleSize)
    left -= count
    return pool.closeIdle(count)
  })
  await Promise.all(closed)
}

/** Whether two targets lead to the same place. Targets are rebuilt with each configuration change, mostly unchanged. */
const isSamePlace = (one: RemoteTarget, other: RemoteTarget): boolean =>
  one === other || (isDeepStrictEqual(one.endpoints, other.endpoints) && isTrustEqual(one, other))

/** Whether the same servers are trusted. */
const isTrustEqual = (one: RemoteTarget, other: RemoteTarget): boolean =>
  one === other || isDeepStrictEqual(one.tls, other.tls)
