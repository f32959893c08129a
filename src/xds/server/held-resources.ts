// The resources of one type that one stream holds, by name: a map shared with other streams, and deviations from it.

import type { EncodedResource } from '../encode/encode.js'
import type { HeldVersion, SharedViews } from './shared-views.js'
import type { ResourceMap } from './snapshot-cache.js'

const NOTHING: ResourceMap = new Map()

/** The resources of one type that a stream holds. */
export class HeldResources {
  readonly #views: SharedViews
  #shared = NOTHING
  /** Entries that deviate from the shared map; undefined means not held although it is in that map. */
  readonly #own = new Map<string, HeldVersion | undefined>()

  constructor(views: SharedViews) {
    this.#views = views
  }

  get isEmpty(): boolean {
    return this.#shared.size + this.#own.size === 0
  }

  get(name: string): HeldVersion | undefined {
    if (this.#own.has(name)) return this.#own.get(name)
    const resource = this.#shared.get(name)
    return resource && this.#views.held(resource)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  set(name: string, held: HeldVersion): void {
    this.#own.set(name, held)
  }

  setResource(resource: EncodedResource): void {
    this.#own.set(resource.name, this.#views.held(resource))
  }

  /** Holds exactly these resources. */
  setAll(resources: ResourceMap): void {
    this.#shared = resources
    this.#own.clear()
  }

  delete(name: string): void {
    if (this.#shared.has(name)) this.#own.set(name, undefined)
    else this.#own.delete(name)
  }

  *keys(): Iterable<string> {
    for (const [name] of this.entries()) yield name
  }

  *entries(): Iterable<readonly [string, HeldVersion]> {
    for (const [name, resource] of this.#shared)
      if (!this.#own.has(name)) yield [name, this.#views.held(resource)]
    for (const [name, held] of this.#own) if (held !== undefined) yield [name, held]
  }
}
