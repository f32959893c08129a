// Holds the current configuration of every gateway and notifies the streams that serve it.

import { hash } from 'node:crypto'
import { type Chunk, namedChunks } from '../../incremental/chunked-list.js'
import { type Differences, differences } from '../../incremental/diff.js'
import { memo } from '../../incremental/memo.js'
import { listOf } from '../../incremental/named-map.js'
import { compareText } from '../../incremental/sorted-list.js'
import type { EncodedResource } from '../encode/encode.js'
import { SentClusters } from './sent-clusters.js'

/** Resources by name. */
export type ResourceMap = ReadonlyMap<string, EncodedResource>
/** Resources of one Envoy, by type URL. */
export type NodeSnapshot = ReadonlyMap<string, ResourceMap>
/** The snapshot of one gateway, in the two forms that Envoys accept. */
export interface GatewaySnapshot {
  /** Virtual hosts are separate resources, which Envoy requests for their route configuration (VHDS). */
  readonly split: NodeSnapshot
  /** Virtual hosts are part of their route configuration. */
  readonly whole: () => NodeSnapshot
}
/** The form of a snapshot: virtual hosts sent separately, or within their route configurations. */
export type SnapshotForm = keyof GatewaySnapshot
/** Snapshots by node.cluster: "NAMESPACE/NAME" of a Gateway, or "*" for all of them. */
export type XdsSnapshot = ReadonlyMap<string, GatewaySnapshot>

const EMPTY: NodeSnapshot = new Map()

/** The current snapshot, and the streams that wait for the next. */
export class SnapshotCache {
  /** Clusters sent as the state of the world, for Envoys that reconnect. */
  readonly sentClusters = new SentClusters()
  #current: XdsSnapshot | undefined
  readonly #listeners = new Set<() => void>()

  set(snapshot: XdsSnapshot): void {
    this.#current = snapshot
    for (const listener of [...this.#listeners]) listener()
  }

  /** Returns the snapshot of a node; undefined if none was ever set, empty for an unknown gateway. */
  forNode(cluster: string, form: SnapshotForm): NodeSnapshot | undefined {
    if (this.#current === undefined) return undefined
    const gateway = this.#current.get(cluster)
    return (form === 'split' ? gateway?.split : gateway?.whole()) ?? EMPTY
  }

  /** Returns the snapshot that most Envoys get; undefined if there are several Gateways or none was ever set. */
  forAll(): NodeSnapshot | undefined {
    const gateways = new Set(this.#current?.values())
    return gateways.size === 1 ? [...gateways][0]?.split : undefined
  }

  /** Calls listener after every set(); the result unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/** Returns the resources sorted by name, in the same list for every stream that wants the same map. */
export const sortedOf = memo((resources: ResourceMap): readonly EncodedResource[] =>
  listOf(resources).toSorted((a, b) => compareText(a.name, b.name)),
)

const versions = new WeakMap<ResourceMap, string>()

/**
 * Returns the version of a set of resources of one type, by their names and versions in any order: the sum of one
 * number per resource, so changing one of thousands costs one hash.
 */
export function versionOf(resources: ResourceMap): string {
  const known = versions.get(resources)
  if (known !== undefined) return known
  let sum = 0n
  for (const chunk of namedChunks(listOf(resources))) sum += versionSum(chunk)
  const version = BigInt.asUintN(BITS, sum).toString(36)
  versions.set(resources, version)
  return version
}

const BITS = 128

const numberOf = memo(({ name, version }: EncodedResource): bigint => {
  const digest = hash('sha256', `${name}\0${version}`)
  return BigInt(`0x${digest.slice(0, BITS / 4)}`)
})

/** Returns a chunk's share of versionOf(). */
export const versionSum = memo((resources: Chunk<EncodedResource>): bigint =>
  resources.reduce((sum, resource) => sum + numberOf(resource), 0n),
)

/** Differences by the earlier map, as each stream asks for the same ones. */
const changes = new WeakMap<
  ResourceMap,
  { readonly now: ResourceMap; readonly found: Differences<EncodedResource> }
>()

/** Returns the resources that are in only one of the maps. */
export function resourceChanges(
  before: ResourceMap,
  now: ResourceMap,
): Differences<EncodedResource> {
  const known = changes.get(before)
  if (known?.now === now) return known.found
  const found = differences(listOf(before), listOf(now))
  changes.set(before, { now, found })
  return found
}
