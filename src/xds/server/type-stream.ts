// One type on one stream: its subscription, and the next response.

import type { EncodedResource } from '../encode/encode.js'
import { CLUSTER_TYPE, LISTENER_TYPE, VIRTUAL_HOST_TYPE } from '../encode/type-urls.js'
import { Delivery } from './delivery.js'
import type { SharedViews } from './shared-views.js'
import type { ResourceMap } from './snapshot-cache.js'

/** A response, independent of the protocol. */
export interface Push {
  readonly typeUrl: string
  readonly version: string
  readonly nonce: string
  readonly resources: readonly EncodedResource[]
  /** Names of resources that Envoy has no version of. */
  readonly fresh: readonly string[]
  /** Names of resources that Envoy has another version of, or none. */
  readonly changed: readonly string[]
  /** Names of removed resources, which only the incremental protocol sends. */
  readonly removed: readonly string[]
}

/** Whether a resource may be removed, as nothing that stays refers to it. */
export type MayRemove = (name: string) => boolean

/** The two forms of ADS. */
export type Protocol = 'state-of-the-world' | 'incremental'

interface Named {
  readonly all: ResourceMap
  readonly names: ReadonlySet<string>
  readonly wanted: ResourceMap
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** The state of one type on one stream. */
export class TypeStream {
  readonly #views: SharedViews
  readonly subscription: Subscription
  readonly delivery: Delivery
  /** Resources that are gone and that Envoy keeps for a while. */
  readonly lingering = new Lingering()
  /** Whether a response is due even if it has nothing new. */
  owed = false
  /** Nonce of the last response; "" before the first. */
  nonce = ''
  /** The last result of wanted(). */
  #named: Named | undefined
  /** Names that an incremental client requested and that may not exist. */
  #asked = NO_NAMES

  constructor(
    readonly typeUrl: string,
    readonly protocol: Protocol,
    views: SharedViews,
  ) {
    this.#views = views
    this.subscription = new Subscription(typeUrl)
    this.delivery = new Delivery(protocol === 'incremental' || !this.#isComplete(), views)
  }

  ask(names: ReadonlySet<string>): void {
    this.#asked = this.#asked.size === 0 ? names : new Set([...this.#asked, ...names])
    this.owed = true
  }

  /**
   * Returns the subscribed resources; all has those of the type in the snapshot. The result is the same object while
   * all and the names are.
   */
  wanted(all: ResourceMap): ResourceMap {
    const { wildcard, names } = this.subscription
    if (wildcard) return all
    if (this.#named?.all === all && this.#named.names === names) return this.#named.wanted
    const wanted = this.#views.named(all, names)
    if (wanted === all && names.size === all.size) this.#share(this.#views.names(all))
    this.#named = { all, names: this.subscription.names, wanted }
    return wanted
  }

  #share(names: ReadonlySet<string>): void {
    if (this.#asked === this.subscription.names) this.#asked = names
    this.subscription.share(names)
  }

  /** Returns the next response; undefined if none is due. */
  next(wanted: ResourceMap, mayRemove: MayRemove, nonce: string): Push | undefined {
    const changes = this.delivery.changes(wanted)
    this.lingering.keep(changes.gone)
    const removable = changes.gone.filter(mayRemove)
    const sendsRemovals = this.protocol === 'incremental' || this.#isComplete()
    const { updated, gone, lingering } = this.delivery.forOneResponse({
      ...changes,
      gone: sendsRemovals ? removable : [],
    })
    if (!this.owed && updated.length + gone.length === 0) return undefined
    if (this.protocol === 'state-of-the-world')
      return this.#sendWorld(nonce, wanted, updated, removable)
    const removed = this.#withMissing([...gone, ...lingering], wanted)
    return this.#send(nonce, this.#views.version(wanted), updated, removed)
  }

  #sendWorld(
    nonce: string,
    wanted: ResourceMap,
    updated: readonly EncodedResource[],
    removed: readonly string[],
  ): Push {
    if (!this.#isComplete()) {
      // Envoy is not told: it keeps them as long as it requests them.
      this.delivery.forget(removed)
      return this.#send(nonce, this.#views.version(wanted), updated, [])
    }
    const gone = new Set(removed)
    const kept = this.delivery.leftovers(wanted).filter(({ name }) => !gone.has(name))
    const world =
      kept.length === 0 ? wanted : new Map([...wanted, ...kept.map((r) => [r.name, r] as const)])
    return this.#send(nonce, this.#views.version(world), [...world.values()], removed)
  }

  #send(
    nonce: string,
    version: string,
    resources: readonly EncodedResource[],
    removed: readonly string[],
  ): Push {
    this.owed = false
    this.nonce = nonce
    this.#asked = NO_NAMES
    const names = this.#views.namesOf(resources)
    const { isEmpty } = this.delivery
    const fresh = isEmpty ? names : names.filter((name) => !this.delivery.holds(name))
    const changed = isEmpty
      ? names
      : this.#views.namesOf(resources.filter((one) => !this.delivery.has(one)))
    const push = { typeUrl: this.typeUrl, version, nonce, resources, fresh, changed, removed }
    this.delivery.sent(push)
    return push
  }

  /** Whether a state-of-the-world response must be complete, as Envoy deletes what is absent from it. */
  #isComplete(): boolean {
    return this.typeUrl === CLUSTER_TYPE || this.typeUrl === LISTENER_TYPE
  }

  #withMissing(removed: readonly string[], wanted: ResourceMap): readonly string[] {
    const { wildcard, names } = this.subscription
    const hasAll = !wildcard && this.#asked === names && wanted.size === names.size
    const missing = hasAll ? [] : [...this.#asked].filter((name) => !wanted.has(name))
    return [...new Set([...removed, ...missing])].sort()
  }
}

// Resources that nothing names any more and that are not removed yet, by the time at which that began.

/** The lingering resources of one type on one stream. */
class Lingering {
  readonly #since = new Map<string, number>()

  /** Returns when a resource began to linger, by performance.now(): now, if it did not yet. */
  begunAt(name: string, now: number): number {
    const since = this.#since.get(name) ?? now
    this.#since.set(name, since)
    return since
  }

  /** Forgets all others: they are wanted again, or removed. */
  keep(names: readonly string[]): void {
    if (this.#since.size === 0) return
    const kept = new Set(names)
    for (const name of this.#since.keys()) if (!kept.has(name)) this.#since.delete(name)
  }

  /** When the first of them began; undefined if there is none. */
  get firstAt(): number | undefined {
    return this.#since.values().next().value
  }
}

// The subscription of one stream to one type: names, a wildcard, or both, by the rules of the xDS protocol.

const WILDCARD = '*'

/** Whether an empty subscription to the type means everything, until the stream first names something. */
const hasImplicitWildcard = (typeUrl: string): boolean =>
  [CLUSTER_TYPE, LISTENER_TYPE, VIRTUAL_HOST_TYPE].includes(typeUrl)

/** What a stream has subscribed to of one type. */
class Subscription {
  readonly #typeUrl: string
  #wildcard = false
  #implicit = true
  #names: ReadonlySet<string> = new Set()

  constructor(typeUrl: string) {
    this.#typeUrl = typeUrl
  }

  get wildcard(): boolean {
    return this.#wildcard
  }

  /** The subscribed names; the same object until they change. */
  get names(): ReadonlySet<string> {
    return this.#names
  }

  /** Keeps another set of the same names, which other streams share. */
  share(names: ReadonlySet<string>): void {
    this.#names = names
  }

  wants(name: string): boolean {
    return this.#wildcard || this.#names.has(name)
  }

  /** State of the world: replaces the complete list. Returns what was not wanted before. */
  replace(names: readonly string[]): readonly string[] {
    if (names.length > 0) this.#implicit = false
    const before = { wildcard: this.#wildcard, names: this.#names }
    this.#wildcard = names.includes(WILDCARD) || this.#isImplicitWildcard()
    this.#names = new Set(names.filter((name) => name !== WILDCARD))
    const added = [...this.#names].filter((name) => !before.wildcard && !before.names.has(name))
    return this.#wildcard && !before.wildcard ? [...added, WILDCARD] : added
  }

  /** Incremental: adds and removes names. */
  change(subscribe: readonly string[], unsubscribe: readonly string[]): void {
    if (subscribe.length > 0) this.#implicit = false
    if (subscribe.includes(WILDCARD)) this.#wildcard = true
    else if (unsubscribe.includes(WILDCARD)) this.#wildcard = false
    else if (this.#isImplicitWildcard()) this.#wildcard = true
    if (unsubscribe.includes(WILDCARD)) this.#implicit = false
    if (subscribe.length + unsubscribe.length > 0) this.#changeNames(subscribe, unsubscribe)
  }

  #changeNames(subscribe: readonly string[], unsubscribe: readonly string[]): void {
    const names = new Set(this.#names)
    for (const name of subscribe) names.add(name)
    for (const name of unsubscribe) names.delete(name)
    names.delete(WILDCARD)
    this.#names = names
  }

  #isImplicitWildcard(): boolean {
    return this.#implicit && hasImplicitWildcard(this.#typeUrl)
  }
}
