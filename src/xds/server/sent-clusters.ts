// Clusters sent as the state of the world, by version. A reconnecting Envoy names its version, and clusters removed
// since must stay until its routes have changed: a response without them would delete them immediately.

import type { EncodedResource } from '../encode/encode.js'

/** Maximum number of resources in total; the oldest responses are dropped first. */
const MOST = 100_000

/** The clusters of earlier responses, by gateway and version. */
export class SentClusters {
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
