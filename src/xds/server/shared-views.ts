// Views of resource maps: what hundreds of streams ask about the same thousands of resources, computed once per server.

import { hash } from 'node:crypto'
import { type Chunk, namedChunks } from '../../kit/incremental/chunked-list.js'
import { type Differences, differences } from '../../kit/incremental/diff.js'
import { briefMemo, memo } from '../../kit/incremental/memo.js'
import { listOf } from '../../kit/incremental/named-map.js'
import { compareText } from '../../kit/incremental/sorted-list.js'
import type { EncodedResource } from '../encode/encode.js'
import type { ResourceMap } from './snapshot-cache.js'
import { routeConfigurationOf } from './vhds.js'

/** If fewer than one in this many resources are subscribed to, looking these up is faster. */
const FEW = 16
const BITS = 128

/** What a stream holds under a name. */
export interface HeldVersion {
  /** The version; "" if Envoy may have any version, as after a NACK. */
  readonly version: string
  /** The resource; absent if only an incremental client's report is known. */
  readonly resource?: EncodedResource
  /** Set if Envoy rejected the first version sent, and so has none. */
  readonly isRefused?: true
}

/** What the streams of a server share. */
export class SharedViews {
  /** Returns the resources sorted by name, in the same list for every stream that wants the same map. */
  readonly sorted = memo((resources: ResourceMap): readonly EncodedResource[] =>
    listOf(resources).toSorted((a, b) => compareText(a.name, b.name)),
  )

  /**
   * Returns the version of a set of resources of one type, by their names and versions in any order: the sum of one
   * number per resource, so changing one of thousands costs one hash.
   */
  readonly version = memo((resources: ResourceMap): string => {
    let sum = 0n
    for (const chunk of namedChunks(listOf(resources))) sum += this.versionSum(chunk)
    return BigInt.asUintN(BITS, sum).toString(36)
  })

  /** Returns a chunk's share of version(). */
  readonly versionSum = memo((resources: Chunk<EncodedResource>): bigint =>
    resources.reduce((sum, resource) => sum + this.#numberOf(resource), 0n),
  )

  /** Returns a resource as what a stream holds. */
  readonly held = memo((resource: EncodedResource): HeldVersion => ({
    version: resource.version,
    resource,
  }))

  readonly names = memo((resources: ResourceMap): ReadonlySet<string> => new Set(resources.keys()))

  readonly namesOf = memo((resources: readonly EncodedResource[]): readonly string[] =>
    resources.map(({ name }) => name),
  )

  /** Returns the route configurations of virtual hosts. */
  readonly configurations = memo(
    (hosts: ResourceMap): ReadonlySet<string> =>
      new Set(namedChunks(listOf(hosts)).flatMap((chunk) => this.#configurationsOf(chunk))),
  )

  readonly #configurationsOf = memo((hosts: Chunk<EncodedResource>): readonly string[] => [
    ...new Set(hosts.map(({ name }) => routeConfigurationOf(name))),
  ])
  readonly #numberOf = memo(({ name, version }: EncodedResource): bigint => {
    const digest = hash('sha256', `${name}\0${version}`)
    return BigInt(`0x${digest.slice(0, BITS / 4)}`)
  })
  readonly #named = memo((all: ResourceMap) =>
    briefMemo((names: ReadonlySet<string>): ResourceMap => namedIn(all, names)),
  )
  readonly #changes = new WeakMap<
    ResourceMap,
    { readonly now: ResourceMap; readonly found: Differences<EncodedResource> }
  >()

  /** Returns the resources of these names; all itself, which other streams share, if these are all of them. */
  named(all: ResourceMap, names: ReadonlySet<string>): ResourceMap {
    return this.#named(all)(names)
  }

  /** Returns the resources that are in only one of the maps. */
  changes(before: ResourceMap, now: ResourceMap): Differences<EncodedResource> {
    const known = this.#changes.get(before)
    if (known?.now === now) return known.found
    const found = differences(listOf(before), listOf(now))
    this.#changes.set(before, { now, found })
    return found
  }
}

function namedIn(all: ResourceMap, names: ReadonlySet<string>): ResourceMap {
  const isFew = names.size < all.size / FEW
  const found = isFew
    ? [...names].sort().flatMap((name) => all.get(name) ?? [])
    : listOf(all).filter(({ name }) => names.has(name))
  return found.length === all.size
    ? all
    : new Map(found.map((resource) => [resource.name, resource]))
}
