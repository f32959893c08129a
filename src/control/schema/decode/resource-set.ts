// Collects decoded resources into sorted lists by kind; a resource that is defined twice counts once.

import { isSameRow } from '../../../kit/incremental/diff.js'
import { memo } from '../../../kit/incremental/memo.js'
import { compareText, patchSorted } from '../../../kit/incremental/sorted-list.js'
import { atOnce, each, type Work } from '../../../kit/turns.js'
import type { Problem, Resource, Resources } from '../kinds/resources.js'
import type { DecodedResource } from './decode.js'

/** Returns the key of a resource. An empty or absent namespace (cluster-scoped, some problems) counts as "default". */
export const resourceKey = (kind: string, namespace: string | undefined, name: string): string =>
  `${kind}/${namespace === undefined || namespace === '' ? 'default' : namespace}/${name}`

/** Returns the key of a resource; kept on it, as each of thousands is looked up by its key at every change. */
export const resourceKeyOf = memo(({ kind, metadata }: Resource<unknown>): string =>
  resourceKey(kind, metadata.namespace, metadata.name),
)

/** The collected resources. The first of two definitions counts; the other becomes a problem that names both places. */
export interface CollectedResources {
  readonly resources: Resources
  readonly problems: readonly Problem[]
}

/** The resources of all places. */
export interface ResourceCollector {
  /** Replaces what a place (a file, an object of a cluster) holds. */
  put(place: string, decoded: readonly DecodedResource[]): void
  /** Returns the resources of all places, in order of place name. What did not change stays the same object. */
  collected(): CollectedResources
  /** Like collected(), in slices; nothing may be put until it has ended. */
  collectedWork(): Work<CollectedResources>
}

/** Collects a list once; on duplicates the earlier definition counts. */
export function collectResources(decoded: readonly DecodedResource[]): CollectedResources {
  const collector = createResourceCollector()
  collector.put('', decoded)
  return collector.collected()
}

interface Definition {
  readonly place: string
  /** Position among the definitions of its place. */
  readonly index: number
  readonly decoded: DecodedResource
}

/** Creates a collector whose cost depends on what changes: unchanged places are not looked at again. */
export const createResourceCollector = (): ResourceCollector => new Collector()

class Collector implements ResourceCollector {
  readonly #places = new Map<string, readonly DecodedResource[]>()
  /** Definitions by resourceKey(), the one that counts first. */
  readonly #definitions = new Map<string, readonly Definition[]>()
  /** Keys of resources that are defined more than once. */
  readonly #repeated = new Set<string>()
  /** Keys changed since the last collected(), with the definition that counted then. */
  readonly #changed = new Map<string, DecodedResource | undefined>()
  #collected: CollectedResources = { resources: NO_RESOURCES, problems: [] }

  put(place: string, decoded: readonly DecodedResource[]): void {
    const before = this.#places.get(place) ?? []
    if (isSameRow(before, decoded)) return
    for (const { resource } of before) this.#define(resourceKeyOf(resource), place, [])
    const own = new Map<string, Definition[]>()
    for (const [index, each] of decoded.entries()) {
      const key = resourceKeyOf(each.resource)
      own.set(key, [...(own.get(key) ?? []), { place, index, decoded: each }])
    }
    for (const [key, definitions] of own) this.#define(key, place, definitions)
    if (decoded.length === 0) this.#places.delete(place)
    else this.#places.set(place, decoded)
  }

  collected(): CollectedResources {
    return atOnce(this.collectedWork())
  }

  *collectedWork(): Work<CollectedResources> {
    if (this.#changed.size > 0) {
      const resources = yield* this.#patched(this.#collected.resources)
      this.#collected = { resources, problems: this.#problems() }
      this.#changed.clear()
    }
    return this.#collected
  }

  /** Replaces the definitions of a key at a place by own. */
  #define(key: string, place: string, own: readonly Definition[]): void {
    const before = this.#definitions.get(key) ?? []
    if (!this.#changed.has(key)) this.#changed.set(key, before[0]?.decoded)
    const others = before.filter((each) => each.place !== place)
    const now = others.length === 0 ? own : [...others, ...own].sort(byPlace)
    if (now.length === 0) this.#definitions.delete(key)
    else this.#definitions.set(key, now)
    if (now.length > 1) this.#repeated.add(key)
    else this.#repeated.delete(key)
  }

  *#patched(before: Resources): Work<Resources> {
    const changes = new Map<keyof Resources, Changes>()
    yield* each(this.#changed, ([key, was]) => {
      const now = this.#definitions.get(key)?.[0]?.decoded
      if (was?.resource === now?.resource) return
      if (was !== undefined) changesOf(changes, was).removed.push(was.resource)
      if (now !== undefined) changesOf(changes, now).added.push(now.resource)
    })
    const sets: Record<keyof Resources, readonly Resource<unknown>[]> = { ...before }
    for (const [collection, own] of changes)
      sets[collection] = yield* patchSorted(sets[collection], own, byName)
    // Each collection holds what its kind's schema decoded; kinds.ts pairs the two.
    return sets as Resources
  }

  #problems(): readonly Problem[] {
    return [...this.#repeated]
      .flatMap((key) => {
        const [first, ...later] = this.#definitions.get(key) ?? []
        return first === undefined ? [] : later.map((each) => ({ first, each }))
      })
      .sort((a, b) => byPlace(a.each, b.each))
      .map(({ first, each }) => duplicate(each.decoded, first.decoded))
  }
}

interface Changes {
  readonly removed: Resource<unknown>[]
  readonly added: Resource<unknown>[]
}

function changesOf(all: Map<keyof Resources, Changes>, { collection }: DecodedResource): Changes {
  const known = all.get(collection)
  if (known !== undefined) return known
  const own = { removed: [], added: [] }
  all.set(collection, own)
  return own
}

const byPlace = (a: Definition, b: Definition): number =>
  compareText(a.place, b.place) || a.index - b.index

const NO_RESOURCES: Resources = {
  gatewayClasses: [],
  gateways: [],
  listenerSets: [],
  httpRoutes: [],
  proxyPolicies: [],
  proxyBackends: [],
  proxyParameters: [],
  backendTlsPolicies: [],
  referenceGrants: [],
  namespaces: [],
  services: [],
  endpointSlices: [],
  secrets: [],
  configMaps: [],
}

function duplicate(later: DecodedResource, earlier: DecodedResource): Problem {
  const { apiVersion, kind, metadata } = later.resource
  const { namespace, name } = metadata
  const called = namespace === '' ? name : `${namespace}/${name}`
  return {
    source: later.position,
    message: `${kind} ${called} is defined twice: ${earlier.resource.source} counts, this one does not`,
    apiVersion,
    kind,
    namespace,
    name,
  }
}

const byName = (a: Resource<unknown>, b: Resource<unknown>): number =>
  compareText(a.metadata.namespace, b.metadata.namespace) ||
  compareText(a.metadata.name, b.metadata.name)
