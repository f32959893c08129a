// One type on one stream: what is subscribed to, what is to be sent next.

import type { EncodedResource } from '../encode/encode.js'
import { CLUSTER_TYPE, LISTENER_TYPE } from '../encode/type-urls.js'
import { Delivery } from './delivery.js'
import type { ResourceMap } from './snapshot-cache.js'
import { versionOf } from './snapshot-cache.js'
import { Subscription } from './subscription.js'

/** A response, before it has the form of one protocol or the other. */
export interface Push {
  readonly typeUrl: string
  readonly version: string
  readonly nonce: string
  readonly resources: readonly EncodedResource[]
  /** Names of those that Envoy has no version of. */
  readonly fresh: readonly string[]
  /** Names of those that Envoy has another version of, or none. */
  readonly changed: readonly string[]
  /** Incremental only. */
  readonly removed: readonly string[]
}

/** Nothing that is left still refers to what goes. */
export type MayRemove = (name: string) => boolean

export type Protocol = 'state-of-the-world' | 'incremental'

interface Named {
  readonly all: ResourceMap
  readonly names: ReadonlySet<string>
  readonly wanted: ResourceMap
}

const named = (all: ResourceMap, names: ReadonlySet<string>): ResourceMap =>
  new Map(
    [...names].sort().flatMap((name) => {
      const resource = all.get(name)
      return resource === undefined ? [] : [[name, resource] as const]
    }),
  )

export class TypeStream {
  readonly subscription: Subscription
  readonly delivery: Delivery
  /** The next response is owed, even if it holds nothing new. */
  owed = false
  /** "": nothing was sent yet. */
  nonce = ''
  /** The last result of wanted(). */
  #named: Named | undefined
  /** Names that an incremental client asked for and that may not exist. */
  readonly #asked = new Set<string>()

  constructor(
    readonly typeUrl: string,
    readonly protocol: Protocol,
  ) {
    this.subscription = new Subscription(typeUrl)
    this.delivery = new Delivery(protocol === 'incremental' || !this.#isComplete())
  }

  ask(names: Iterable<string>): void {
    for (const name of names) this.#asked.add(name)
    this.owed = true
  }

  /** all: the type's resources in the snapshot. The same object for the same one, while the names are the same. */
  wanted(all: ResourceMap): ResourceMap {
    const { wildcard, names } = this.subscription
    if (wildcard) return all
    if (this.#named?.all !== all || this.#named.names !== names)
      this.#named = { all, names, wanted: named(all, names) }
    return this.#named.wanted
  }

  /** The response that is due; undefined: none. */
  next(wanted: ResourceMap, mayRemove: MayRemove, nonce: string): Push | undefined {
    const changes = this.delivery.changes(wanted)
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
    return this.#send(nonce, versionOf(wanted), updated, removed)
  }

  #sendWorld(
    nonce: string,
    wanted: ResourceMap,
    updated: readonly EncodedResource[],
    removed: readonly string[],
  ): Push {
    if (!this.#isComplete()) {
      // Envoy is not told: it keeps them for as long as it asks for them.
      this.delivery.forget(removed)
      return this.#send(nonce, versionOf(wanted), updated, [])
    }
    const kept = removed.length > 0 ? [] : this.delivery.leftovers(wanted)
    const world =
      kept.length === 0 ? wanted : new Map([...wanted, ...kept.map((r) => [r.name, r] as const)])
    return this.#send(nonce, versionOf(world), [...world.values()], removed)
  }

  #send(
    nonce: string,
    version: string,
    resources: readonly EncodedResource[],
    removed: readonly string[],
  ): Push {
    this.owed = false
    this.nonce = nonce
    this.#asked.clear()
    const fresh = resources.map(({ name }) => name).filter((name) => !this.delivery.holds(name))
    const changed = resources.filter((one) => !this.delivery.has(one)).map(({ name }) => name)
    const push = { typeUrl: this.typeUrl, version, nonce, resources, fresh, changed, removed }
    this.delivery.sent(push)
    return push
  }

  /** State of the world: what is absent from a response is deleted, so that it must be complete. */
  #isComplete(): boolean {
    return this.typeUrl === CLUSTER_TYPE || this.typeUrl === LISTENER_TYPE
  }

  #withMissing(removed: readonly string[], wanted: ResourceMap): readonly string[] {
    const missing = [...this.#asked].filter((name) => !wanted.has(name))
    return [...new Set([...removed, ...missing])].sort()
  }
}
