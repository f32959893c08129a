// Holds the current configuration of every gateway and notifies the streams that serve it.

import type { EncodedResource } from '../encode/encode.js'

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

// Clusters sent as the state of the world, by version. A reconnecting Envoy names its version, and clusters removed
// since must stay until its routes have changed: a response without them would delete them immediately.

/** Maximum number of resources in total; the oldest responses are dropped first. */
const MOST = 100_000

/** The clusters of earlier responses, by gateway and version. */
class SentClusters {
  readonly #byVersion = new Map<string, readonly EncodedResource[]>()
  #size = 0

  /** Stores the clusters of a version. cluster is node.cluster, as no Envoy may learn what another gateway has. */
  remember(cluster: string, version: string, clusters: readonly EncodedResource[]): void {
    const key = versionKey(cluster, version)
    this.#forget(key)
    this.#byVersion.set(key, clusters)
    this.#size += clusters.length
    for (const oldest of this.#byVersion.keys()) {
      if (this.#size <= MOST || oldest === key) return
      this.#forget(oldest)
    }
  }

  /** Returns the clusters of a version; undefined if dropped or sent by another process. */
  find(cluster: string, version: string): readonly EncodedResource[] | undefined {
    return this.#byVersion.get(versionKey(cluster, version))
  }

  #forget(key: string): void {
    this.#size -= this.#byVersion.get(key)?.length ?? 0
    this.#byVersion.delete(key)
  }
}

const versionKey = (cluster: string, version: string): string => `${version} ${cluster}`
