// What one stream holds of one type, by name: all of a map that other streams share, but for what is noted here.

import { memo } from '../../incremental/memo.js'
import type { EncodedResource } from '../encode/encode.js'
import type { ResourceMap } from './snapshot-cache.js'

export interface HeldVersion {
  /** "": Envoy may have any version of it, after a refusal. */
  readonly version: string
  /** Absent: known by an incremental client's word only. */
  readonly resource?: EncodedResource
  /** Envoy refused the first version that it was sent, and has none. */
  readonly isRefused?: true
}

/** Hundreds of streams hold the same thousands. */
const heldOf = memo((resource: EncodedResource): HeldVersion => ({
  version: resource.version,
  resource,
}))

const NOTHING: ResourceMap = new Map()

export class HeldResources {
  #shared = NOTHING
  /** undefined: not held, though it is in the shared map. */
  readonly #own = new Map<string, HeldVersion | undefined>()

  get isEmpty(): boolean {
    return this.#shared.size + this.#own.size === 0
  }

  get(name: string): HeldVersion | undefined {
    if (this.#own.has(name)) return this.#own.get(name)
    const resource = this.#shared.get(name)
    return resource && heldOf(resource)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  set(name: string, held: HeldVersion): void {
    this.#own.set(name, held)
  }

  setResource(resource: EncodedResource): void {
    this.#own.set(resource.name, heldOf(resource))
  }

  /** All of it, and nothing else. */
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
      if (!this.#own.has(name)) yield [name, heldOf(resource)]
    for (const [name, held] of this.#own) if (held !== undefined) yield [name, held]
  }
}
