// The connections to one webhook, by target. After a change of its endpoints or TLS, streams that began before it still
// call the old target while others call the new one; the limit of connections holds for both together. A call that waited
// goes to the endpoints that the webhook has by then, but only as its own policy trusts them.

import { isDeepStrictEqual } from 'node:util'
import type { RemoteTarget } from '../../model/remote-target.js'
import type { Connecting } from './connect/connect.js'
import type { RemoteFailure } from './connect/remote-failure.js'
import { MAX_TIMER_MS, TargetConnection } from './connection.js'
import { CONNECTION_MS, type PooledCall, type WebhookLease } from './webhook-call.js'

interface Place {
  target: RemoteTarget
  /** Open and about to be. */
  readonly open: Set<TargetConnection>
  /** Those without a call. The one used last is at the end, and is used next. */
  readonly idle: TargetConnection[]
}

/** How many changes of a webhook's TLS are told apart while calls wait; beyond that a call goes to its own endpoints. */
const MOST_TRUSTS = 4

const GIVEN_UP: RemoteFailure = { type: 'aborted' }

/** The connections to the targets of one webhook. The caller limits how many calls run at once. */
export class WebhookConnections {
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

  /** Returns a connection for a call that starts now: an idle one, or a new one. */
  take(call: PooledCall): WebhookLease {
    const place = this.#placeFor(call)
    if (this.#places.length > 1) this.#makeRoom(place)
    const connection = place.idle.pop() ?? this.#open(place, call)
    // A call that waited starts as those before it are ended.
    if (this.#isClosed) this.#end(place, connection)
    const release = (): void => {
      if (connection.isOpen) place.idle.push(connection)
      else this.#end(place, connection)
    }
    return { connection, release }
  }

  /** Closes idle connections until at most `most` are open; resolves when the sockets of all others are closed. */
  async trim(most: number): Promise<void> {
    this.#endIdle(this.#places, sizeOf(this.#places) - most)
    await Promise.all(this.#closing)
  }

  /** Ends the calls under way. Resolves when no socket is left. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const place of this.#places) this.#endAll(place)
    await Promise.all(this.#closing)
  }

  #placeFor(call: PooledCall): Place {
    const target = this.#latest.find((one) => isTrustEqual(one, call.target)) ?? call.target
    const known = this.#places.find((place) => isSamePlace(place.target, target))
    const place = known ?? { target, open: new Set(), idle: [] }
    // The next call has the same object, which is compared at once.
    place.target = target
    if (known === undefined) this.#places = [...this.#places, place]
    return place
  }

  #open(
    place: Place,
    { keepAliveSeconds, timeoutMs = CONNECTION_MS }: PooledCall,
  ): TargetConnection {
    const keepAliveMs = Math.min(keepAliveSeconds * 1000 || MAX_TIMER_MS, MAX_TIMER_MS)
    const onClosed = (): void => {
      // A call notices by itself.
      if (place.idle.includes(connection)) this.#end(place, connection)
    }
    const options = { target: place.target, timeoutMs, keepAliveMs, onClosed }
    const connection = new TargetConnection(options, this.deps)
    place.open.add(connection)
    return connection
  }

  /** Drops the other targets without a call, and closes what the limit leaves no room for beside a new connection. */
  #makeRoom(own: Place): void {
    const isKept = (place: Place): boolean => place === own || place.open.size > place.idle.length
    for (const place of this.#places) if (!isKept(place)) this.#endAll(place)
    this.#places = this.#places.filter(isKept)
    if (this.max === 0) return
    const others = this.#places.filter((place) => place !== own)
    const fresh = own.idle.length === 0 ? 1 : 0
    this.#endIdle(others, sizeOf(this.#places) + fresh - this.max)
  }

  /** Closes so many idle connections, as far as there are; those of the target known for longest first. */
  #endIdle(places: readonly Place[], count: number): void {
    let left = count
    for (const place of places)
      for (const connection of [...place.idle]) if (left-- > 0) this.#end(place, connection)
  }

  #endAll(place: Place): void {
    for (const connection of place.open) this.#end(place, connection)
  }

  #end(place: Place, connection: TargetConnection): void {
    place.open.delete(connection)
    const at = place.idle.indexOf(connection)
    if (at !== -1) place.idle.splice(at, 1)
    const ended = connection.destroy(GIVEN_UP).finally(() => this.#closing.delete(ended))
    this.#closing.add(ended)
  }
}

const sizeOf = (places: readonly Place[]): number =>
  places.reduce((sum, { open }) => sum + open.size, 0)

/** Whether two targets lead to the same place. Targets are rebuilt with each configuration change, mostly unchanged. */
const isSamePlace = (one: RemoteTarget, other: RemoteTarget): boolean =>
  one === other || (isDeepStrictEqual(one.endpoints, other.endpoints) && isTrustEqual(one, other))

/** Whether the same servers are trusted. */
const isTrustEqual = (one: RemoteTarget, other: RemoteTarget): boolean =>
  one === other || isDeepStrictEqual(one.tls, other.tls)
