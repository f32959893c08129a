// One ADS stream: handles requests and sends responses in an order that never leaves Envoy with a dangling reference.

import type { EncodedResource } from '../encode/encode.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  PUSH_ORDER,
  ROUTE_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../encode/type-urls.js'
import type { SharedViews } from './shared-views.js'
import type { NodeSnapshot, ResourceMap } from './snapshot-cache.js'
import type { MayRemove, Protocol, Push } from './type-stream.js'
import { TypeStream } from './type-stream.js'
import { hostsOf, routeConfigurationOf } from './vhds.js'
import type { Waits } from './waits.js'

/** Types whose responses Envoy must answer first: what a listener or route names must exist before it is sent. */
const WAITS_FOR: ReadonlyMap<string, readonly string[]> = new Map([
  [LISTENER_TYPE, [CLUSTER_TYPE, ENDPOINT_TYPE]],
  [ROUTE_TYPE, [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE]],
  [VIRTUAL_HOST_TYPE, [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE]],
])

/** Make before break: deletions, except of virtual hosts, wait until these types are in force as wanted. */
const REFERRERS = [LISTENER_TYPE, ROUTE_TYPE, VIRTUAL_HOST_TYPE]

/** More names than any configuration has; limits an incremental client, which could add names forever. */
const MAX_NAMES = 100_000

const NOTHING: ResourceMap = new Map()

/** A request of either protocol in a common form. */
export interface StreamRequest {
  readonly typeUrl: string
  readonly nonce: string
  /** The error of a NACK of the response with this nonce; absent otherwise. */
  readonly refusal?: string
  /** State of the world: the version that Envoy has, possibly from an earlier stream. */
  readonly version?: string
  /** Updates the subscription; first is true for the first request of its type on this stream. */
  subscribe(type: TypeStream, first: boolean): void
}

/** What a stream is created with. */
export interface StreamOptions {
  readonly protocol: Protocol
  /** Shared by the streams of a server. */
  readonly views: SharedViews
  /** Returns the current snapshot; undefined if there is none yet. */
  snapshot(): NodeSnapshot | undefined
  /** Runs the answer to a request, now or in a later turn; default: now. A request of thousands of names takes long. */
  goOn?(answer: () => void): void
  /** Writes a response; calls sent when there is room for more. */
  write(push: Push, sent: () => void): void
  /** State of the world: returns the clusters of a version that this Envoy may have from an earlier stream. */
  clustersOf?(version: string): readonly EncodedResource[] | undefined
  /** Called on an ACK; isAll is true if no resource of the type is rejected. */
  onAck(typeUrl: string, version: string, isAll: boolean): void
  onNack(typeUrl: string, version: string, reason: string): void
  readonly waits: Waits
}

/** The wanted snapshot, and the time of the check by performance.now(). */
interface Look {
  readonly snapshot: NodeSnapshot
  readonly now: number
}

/** The state of one ADS stream. */
export class AdsStream {
  readonly #options: StreamOptions
  readonly #types = new Map<string, TypeStream>()
  #nonces = 0
  #writing = false
  #timer: NodeJS.Timeout | undefined
  #closed = false
  readonly #begun = performance.now()

  constructor(options: StreamOptions) {
    this.#options = options
  }

  /** Handles a request. Throws if it asks for too many names; the stream must then end. */
  handle(request: StreamRequest): void {
    const known = this.#types.get(request.typeUrl)
    const type =
      known ?? new TypeStream(request.typeUrl, this.#options.protocol, this.#options.views)
    this.#types.set(request.typeUrl, type)
    if (known !== undefined && this.#isStale(type, request.nonce)) return
    if (request.nonce !== '') this.#settle(type, request)
    request.subscribe(type, known === undefined)
    if (known === undefined && type.typeUrl === CLUSTER_TYPE)
      this.#adoptClusters(type, request.version)
    if (known === undefined && type.typeUrl === ENDPOINT_TYPE)
      this.#forgetEndpointsOf(this.#types.get(CLUSTER_TYPE)?.delivery.underWay() ?? [])
    if (type.subscription.names.size > MAX_NAMES)
      throw new Error(`more than ${MAX_NAMES} names of one type are asked for`)
    if (this.#options.goOn === undefined) this.push()
    else this.#options.goOn(() => this.push())
  }

  /** Sends what is due, one response at a time; called on every change. */
  push(): void {
    const snapshot = this.#options.snapshot()
    if (snapshot === undefined || this.#writing || this.#closed) return
    // Both checks use one timestamp: what waits now must be checked again later, however short the remaining wait.
    const now = performance.now()
    for (const type of this.#inOrder()) {
      if (this.#mustWait(type, now)) continue
      type.delivery.retry(now)
      const wanted = this.#wanted(type, snapshot)
      const nonce = String(this.#nonces + 1)
      const push = type.next(wanted, this.#mayRemove(type, { snapshot, now }), nonce)
      if (push !== undefined) return this.#write(push)
    }
    this.#lookAgain(now)
  }

  /** Whether Envoy works with the listeners and routes of the snapshot. */
  isCurrent(): boolean {
    const snapshot = this.#options.snapshot()
    return (
      snapshot !== undefined && this.#referrersCurrent({ snapshot, now: performance.now() }, '')
    )
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #adoptClusters({ delivery }: TypeStream, version = ''): void {
    const clusters = version === '' ? undefined : this.#options.clustersOf?.(version)
    if (clusters !== undefined) delivery.stillHas(clusters)
  }

  #wanted(type: TypeStream, snapshot: NodeSnapshot): ResourceMap {
    const wanted = type.wanted(snapshot.get(type.typeUrl) ?? NOTHING)
    const routes = this.#types.get(ROUTE_TYPE)
    return type.typeUrl === VIRTUAL_HOST_TYPE && routes !== undefined
      ? hostsOf(wanted, this.#options.views.configurations(wanted), (configuration) =>
          routes.delivery.holds(configuration),
        )
      : wanted
  }

  #write(push: Push): void {
    if (push.typeUrl === ROUTE_TYPE) this.#doubtHostsBelow(push.fresh)
    if (push.typeUrl === CLUSTER_TYPE) this.#forgetEndpointsOf(push.changed)
    this.#nonces += 1
    this.#writing = true
    this.#options.write(push, () => {
      this.#writing = false
      this.push()
    })
  }

  /** Marks endpoints for resending: a changed cluster waits for them (15 s at most), and Envoy does not ask again. */
  #forgetEndpointsOf(clusters: Iterable<string>): void {
    this.#types.get(ENDPOINT_TYPE)?.delivery.forget(clusters)
  }

  /**
   * Marks the virtual hosts below these configurations for resending. Envoy accepts but drops hosts of a route
   * configuration that it lacks; or it has kept the configuration, with outdated hosts.
   */
  #doubtHostsBelow(configurations: readonly string[]): void {
    if (configurations.length === 0) return
    const below = new Set(configurations)
    this.#types
      .get(VIRTUAL_HOST_TYPE)
      ?.delivery.doubt((host) => below.has(routeConfigurationOf(host)))
  }

  /**
   * Whether the answer is outdated. State of the world: a later response voids it. An incremental request carries
   * changes and always counts.
   */
  #isStale(type: TypeStream, nonce: string): boolean {
    return this.#options.protocol === 'state-of-the-world' && nonce !== '' && nonce !== type.nonce
  }

  #settle(type: TypeStream, { nonce, refusal }: StreamRequest): void {
    if (refusal === undefined) {
      const version = type.delivery.accepted(nonce)
      if (version !== undefined)
        this.#options.onAck(type.typeUrl, version, !type.delivery.hasRefused)
    } else {
      const version = type.delivery.refused(nonce)
      if (version !== undefined) this.#options.onNack(type.typeUrl, version, refusal)
    }
  }

  #inOrder(): TypeStream[] {
    return PUSH_ORDER.flatMap((typeUrl) => this.#types.get(typeUrl) ?? [])
  }

  /** Whether the type must wait for an answer to a type it depends on, or to itself unless Envoy asked for more. */
  #mustWait({ typeUrl, owed }: TypeStream, now: number): boolean {
    return [...(owed ? [] : [typeUrl]), ...(WAITS_FOR.get(typeUrl) ?? [])].some((other) => {
      const since = this.#types.get(other)?.delivery.waitingSince
      return since !== undefined && now < since + this.#options.waits.patienceMs
    })
  }

  #mayRemove(type: TypeStream, look: Look): MayRemove {
    if (type.typeUrl === VIRTUAL_HOST_TYPE) return this.#mayRemoveHost(type, look)
    if (type.typeUrl === LISTENER_TYPE) return () => true
    if (!this.#referrersCurrent(look, type.typeUrl)) return () => false
    if (REFERRERS.includes(type.typeUrl)) return () => true
    return this.#hasLingered(type, look)
  }

  #hasLingered({ lingering }: TypeStream, { now }: Look): MayRemove {
    const { lingerMs } = this.#options.waits
    return (name) => lingering.begunAt(name, now) + lingerMs <= now
  }

  /**
   * Decides which virtual hosts may be removed. Nothing refers to them, but a draining listener still serves its
   * connections with the hosts of its old route configuration, until Envoy unsubscribes from that. They linger for
   * those; a change would not reach them any more.
   */
  #mayRemoveHost(type: TypeStream, look: Look): MayRemove {
    const routes = this.#types.get(ROUTE_TYPE)
    if (routes === undefined) return () => true
    const configurations = this.#wanted(routes, look.snapshot)
    const hasLingered = this.#hasLingered(type, look)
    return (host) => {
      const configuration = routeConfigurationOf(host)
      const isDraining =
        !configurations.has(configuration) && routes.subscription.wants(configuration)
      return !isDraining || hasLingered(host)
    }
  }

  #referrersCurrent(look: Look, except: string): boolean {
    if (this.#startingSince().some((since) => look.now < since + this.#options.waits.patienceMs))
      return false
    return REFERRERS.filter((typeUrl) => typeUrl !== except).every((typeUrl) => {
      const type = this.#types.get(typeUrl)
      return type === undefined || this.#isInForce(type, look)
    })
  }

  /**
   * Returns when the stream began, until Envoy requests listeners: a reconnecting Envoy requests clusters first and may
   * have listeners and routes that it has not reported yet.
   */
  #startingSince(): readonly number[] {
    return this.#types.has(LISTENER_TYPE) ? [] : [this.#begun]
  }

  /**
   * Whether the type is in force as wanted. Route configurations to remove do not count: Envoy keeps them as long as a
   * listener names them.
   */
  #isInForce(type: TypeStream, look: Look): boolean {
    const wanted = this.#wanted(type, look.snapshot)
    if (!type.delivery.isCurrent(wanted)) return false
    const { gone } = type.delivery.changes(wanted)
    return type.typeUrl === ROUTE_TYPE || !gone.some(this.#mayRemove(type, look))
  }

  /**
   * Schedules the next check: overdue answers (or first requests) no longer delay what waits for them, rejected resources
   * are retried, and others have lingered long enough.
   */
  #lookAgain(now: number): void {
    clearTimeout(this.#timer)
    const { patienceMs, lingerMs } = this.#options.waits
    const unanswered = [...this.#types.values()].flatMap(
      ({ delivery }) => delivery.waitingSince ?? [],
    )
    const retries = [...this.#types.values()].flatMap(({ delivery }) => delivery.retryAt ?? [])
    const lingerers = [...this.#types.values()].flatMap(({ lingering }) => lingering.firstAt ?? [])
    const waits = [
      ...[...unanswered, ...this.#startingSince()].map((since) => since + patienceMs - now),
      ...retries.map((at) => at - now),
      ...lingerers.map((since) => since + lingerMs - now),
    ].filter((ms) => ms > 0)
    if (waits.length === 0) return
    this.#timer = setTimeout(() => this.push(), Math.min(...waits) + 1)
    this.#timer.unref()
  }
}
