// The configuration of every gateway as it should be: set whole, told to the streams that serve it.

import { hash } from 'node:crypto'
import { type Chunk, namedChunks } from '../../incremental/chunked-list.js'
import { type Differences, differences } from '../../incremental/diff.js'
import { memo } from '../../incremental/memo.js'
import { listOf } from '../../incremental/named-map.js'
import type { EncodedResource } from '../encode/encode.js'
import { SentWorlds } from './sent-worlds.js'

/** By name. */
export type ResourceMap = ReadonlyMap<string, EncodedResource>
/** By type URL. */
export type NodeSnapshot = ReadonlyMap<string, ResourceMap>
/** What the Envoys of one gateway get, in the two forms that they take. */
export interface GatewaySnapshot {
  /** Virtual hosts are resources of their own, which their route configuration has Envoy ask for (VHDS). */
  readonly split: NodeSnapshot
  /** Virtual hosts stand in their route configuration. */
  readonly whole: () => NodeSnapshot
}
export type SnapshotForm = keyof GatewaySnapshot
/** By node.cluster: "NAMESPACE/NAME" of a Gateway, or "*" for all of them. */
export type XdsSnapshot = ReadonlyMap<string, GatewaySnapshot>

const EMPTY: NodeSnapshot = new Map()

export class SnapshotCache {
  /** What Envoys that ask for the state of the world may come back with. */
  readonly worlds = new SentWorlds()
  #current: XdsSnapshot | undefined
  readonly #listeners = new Set<() => void>()

  set(snapshot: XdsSnapshot): void {
    this.#current = snapshot
    for (const listener of [...this.#listeners]) listener()
  }

  /** undefined: nothing was ever set. An unknown gateway's is empty. */
  forNode(cluster: string, form: SnapshotForm): NodeSnapshot | undefined {
    if (this.#current === undefined) return undefined
    const gateway = this.#current.get(cluster)
    return (form === 'split' ? gateway?.split : gateway?.whole()) ?? EMPTY
  }

  /** What most Envoys get, where all get the same; undefined: there are several Gateways, or nothing was ever set. */
  forAll(): NodeSnapshot | undefined {
    const gateways = new Set(this.#current?.values())
    return gateways.size === 1 ? [...gateways][0]?.split : undefined
  }

  /** listener is called after every set; the result unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

const versions = new WeakMap<ResourceMap, string>()

/**
 * Version of a set of resources of one type, by their names and versions, whatever their order: the sum of a number that
 * stands for each, so that a change of one among thousands costs one hash.
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

/** A part of versionOf(). */
export const versionSum = memo((resources: Chunk<EncodedResource>): bigint =>
  resources.reduce((sum, resource) => sum + numberOf(resource), 0n),
)

/** By the earlier one: each stream asks the same. */
const changes = new WeakMap<
  ResourceMap,
  { readonly now: ResourceMap; readonly found: Differences<EncodedResource> }
>()

/** The resources that are not in both. */
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
