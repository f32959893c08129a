// One ADS stream: requests in, responses out, in an order that never leaves Envoy with a reference to nothing.

import type { EncodedResource } from '../encode/encode.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  PUSH_ORDER,
  ROUTE_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../encode/type-urls.js'
import type { NodeSnapshot, ResourceMap } from './snapshot-cache.js'
import type { MayRemove, Protocol, Push } from './type-stream.js'
import { TypeStream } from './type-stream.js'
import { hostsOf, routeConfigurationOf } from './vhds.js'

/** Changes of a type wait until Envoy has answered for these: what a listener or route names must be there first. */
const WAITS_FOR: ReadonlyMap<string, readonly string[]> = new Map([
  [LISTENER_TYPE, [CLUSTER_TYPE, ENDPOINT_TYPE]],
  [ROUTE_TYPE, [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE]],
  [VIRTUAL_HOST_TYPE, [CLUSTER_TYPE, ENDPOINT_TYPE, LISTENER_TYPE, ROUTE_TYPE]],
])

/** Deletions (but for virtual hosts) wait until these are in force as wanted: make before break. */
const REFERRERS = [LISTENER_TYPE, ROUTE_TYPE, VIRTUAL_HOST_TYPE]

/** Above any configuration; an incremental client could add names for ever. */
const MAX_NAMES = 100_000

const NOTHING: ResourceMap = new Map()

/** A request of either protocol, in one form. */
export interface StreamRequest {
  readonly typeUrl: string
  readonly nonce: string
  /** Present: Envoy refuses what the nonce stands for. */
  readonly refusal?: string
  /** State of the world: the version that Envoy has, also from a stream before. */
  readonly version?: string
  /** Brings the subscription up to date; first: of its type on this stream. */
  subscribe(type: TypeStream, first: boolean): void
}

export interface StreamOptions {
  readonly protocol: Protocol
  /** undefined: there is no snapshot yet. */
  snapshot(): NodeSnapshot | undefined
  /** sent is called when there is room for more. */
  write(push: Push, sent: () => void): void
  /** State of the world: the clusters of a version that this Envoy may have from a stream before. */
  clustersOf?(version: string): readonly EncodedResource[] | undefined
  /** isAll: nothing of the type is refused. */
  onAck(typeUrl: string, version: string, isAll: boolean): void
  onNack(typeUrl: string, version: string, reason: string): void
  /** How long an answer that does not come holds up changes that wait for it, in milliseconds. */
  readonly patienceMs: number
}

/** What is wanted, and when that is looked at, by performance.now(). */
interface Look {
  readonly snapshot: NodeSnapshot
  readonly now: number
}

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

  /** Throws when it asks for too much: the stream must end. */
  handle(request: StreamRequest): void {
    const known = this.#types.get(request.typeUrl)
    const type = known ?? new TypeStream(request.typeUrl, this.#options.protocol)
    this.#types.set(request.typeUrl, type)
    if (known !== undefined && this.#isStale(type, request.nonce)) return
    if (request.nonce !== '') this.#settle(type, request)
    request.subscribe(type, known === undefined)
    if (known === undefined && type.typeUrl === CLUSTER_TYPE) this.#recall(type, request.version)
    if (known === undefined && type.typeUrl === ENDPOINT_TYPE)
      this.#forgetEndpointsOf(this.#types.get(CLUSTER_TYPE)?.delivery.underWay() ?? [])
    if (type.subscription.names.size > MAX_NAMES)
      throw new Error(`more than ${MAX_NAMES} names of one type are asked for`)
    this.push()
  }

  /** Sends what is due, one response at a time; called at every change. */
  push(): void {
    const snapshot = this.#options.snapshot()
    if (snapshot === undefined || this.#writing || this.#closed) return
    // One clock for both: what waits now must be looked at again later, however little is left to wait.
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

  /** Envoy works with the listeners and routes of the snapshot. */
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

  #recall({ delivery }: TypeStream, version = ''): void {
    const clusters = version === '' ? undefined : this.#options.clustersOf?.(version)
    if (clusters !== undefined) delivery.stillHas(clusters)
  }

  #wanted(type: TypeStream, snapshot: NodeSnapshot): ResourceMap {
    const wanted = type.wanted(snapshot.get(type.typeUrl) ?? NOTHING)
    const routes = this.#types.get(ROUTE_TYPE)
    return type.typeUrl === VIRTUAL_HOST_TYPE && routes !== undefined
      ? hostsOf(wanted, (configuration) => routes.delivery.holds(configuration))
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

  /** A cluster that changes waits for its endpoints (15 s at most), for which Envoy does not ask again. */
  #forgetEndpointsOf(clusters: Iterable<string>): void {
    this.#types.get(ENDPOINT_TYPE)?.delivery.forget(clusters)
  }

  /**
   * Envoy drops the virtual hosts of a route configuration that it does not have, and accepts them all the same; or it
   * has kept that, and hosts from before that are wanted no more.
   */
  #doubtHostsBelow(configurations: readonly string[]): void {
    if (configurations.length === 0) return
    const below = new Set(configurations)
    this.#types
      .get(VIRTUAL_HOST_TYPE)
      ?.delivery.doubt((host) => below.has(routeConfigurationOf(host)))
  }

  /** State of the world: a later response makes it void. An incremental one says what changes, and so counts. */
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

  /** One that it waits for is not answered yet; nor its own last one, unless Envoy asked for more. */
  #mustWait({ typeUrl, owed }: TypeStream, now: number): boolean {
    return [...(owed ? [] : [typeUrl]), ...(WAITS_FOR.get(typeUrl) ?? [])].some((other) => {
      const since = this.#types.get(other)?.delivery.waitingSince
      return since !== undefined && now < since + this.#options.patienceMs
    })
  }

  #mayRemove(type: TypeStream, look: Look): MayRemove {
    if (type.typeUrl === VIRTUAL_HOST_TYPE) return this.#mayRemoveHost(look.snapshot)
    const may = type.typeUrl === LISTENER_TYPE || this.#referrersCurrent(look, type.typeUrl)
    return () => may
  }

  /**
   * Nothing names a virtual host. But a listener that is gone or has another route configuration now serves the
   * connections that it has with the hosts of its old one, until Envoy says that it needs that no more.
   */
  #mayRemoveHost(snapshot: NodeSnapshot): MayRemove {
    const routes = this.#types.get(ROUTE_TYPE)
    if (routes === undefined) return () => true
    const configurations = this.#wanted(routes, snapshot)
    return (host) => {
      const configuration = routeConfigurationOf(host)
      return configurations.has(configuration) || !routes.subscription.wants(configuration)
    }
  }

  #referrersCurrent(look: Look, except: string): boolean {
    if (this.#startingSince().some((since) => look.now < since + this.#options.patienceMs))
      return false
    return REFERRERS.filter((typeUrl) => typeUrl !== except).every((typeUrl) => {
      const type = this.#types.get(typeUrl)
      return type === undefined || this.#isInForce(type, look)
    })
  }

  /** An Envoy that comes back asks for clusters first, and has listeners and routes of which it has not spoken yet. */
  #startingSince(): readonly number[] {
    return this.#types.has(LISTENER_TYPE) ? [] : [this.#begun]
  }

  /** Route configurations are not asked whether any must go: Envoy keeps them as long as a listener names them. */
  #isInForce(type: TypeStream, look: Look): boolean {
    const wanted = this.#wanted(type, look.snapshot)
    if (!type.delivery.isCurrent(wanted)) return false
    const { gone } = type.delivery.changes(wanted)
    return type.typeUrl === ROUTE_TYPE || !gone.some(this.#mayRemove(type, look))
  }

  /** When an answer (or a first request) is overdue, what waits for it goes ahead; what was refused is sent again. */
  #lookAgain(now: number): void {
    clearTimeout(this.#timer)
    const { patienceMs } = this.#options
    const unanswered = [...this.#types.values()].flatMap(
      ({ delivery }) => delivery.waitingSince ?? [],
    )
    const retries = [...this.#types.values()].flatMap(({ delivery }) => delivery.retryAt ?? [])
    const waits = [
      ...[...unanswered, ...this.#startingSince()].map((since) => since + patienceMs - now),
      ...retries.map((at) => at - now),
    ].filter((ms) => ms > 0)
    if (waits.length === 0) return
    this.#timer = setTimeout(() => this.push(), Math.min(...waits) + 1)
    this.#timer.unref()
  }
}
