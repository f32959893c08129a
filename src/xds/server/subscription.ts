// The subscription of one stream to one type: names, a wildcard, or both, by the rules of the xDS protocol.

import { CLUSTER_TYPE, LISTENER_TYPE, VIRTUAL_HOST_TYPE } from '../encode/type-urls.js'

const WILDCARD = '*'

/** Whether an empty subscription to the type means everything, until the stream first names something. */
const hasImplicitWildcard = (typeUrl: string): boolean =>
  [CLUSTER_TYPE, LISTENER_TYPE, VIRTUAL_HOST_TYPE].includes(typeUrl)

/** What a stream has subscribed to of one type. */
export class Subscription {
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
