// A model of Envoy, limited to the order of resources: what it requests on its own, drops silently, and keeps for
// draining listeners. It NACKs every resource whose content is "bad".

import type { MessageInitShape } from '@bufbuild/protobuf'
import { create } from '@bufbuild/protobuf'
import { DeltaDiscoveryRequestSchema } from '../../../src/wire/grpc/generated/envoy/service/discovery/v3/discovery_pb.js'
import type { EncodedResource } from '../../../src/xds/encode/encode.js'
import {
  CLUSTER_TYPE,
  ENDPOINT_TYPE,
  LISTENER_TYPE,
  ROUTE_TYPE,
  VIRTUAL_HOST_TYPE,
} from '../../../src/xds/encode/type-urls.js'
import { incremental } from '../../../src/xds/server/ads-server.js'
import { AdsStream } from '../../../src/xds/server/ads-stream.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
import type { NodeSnapshot } from '../../../src/xds/server/snapshot-cache.js'
import type { Push } from '../../../src/xds/server/type-stream.js'
import { routeConfigurationOf } from '../../../src/xds/server/vhds.js'

type Versions = Map<string, string>

/** A version → what is written after "=" in the Contents of it. */
export type ContentOf = (version: string) => string

export class ModelEnvoy {
  readonly clusters: Versions = new Map()
  /** Clusters that wait for their endpoints. */
  readonly warming = new Set<string>()
  /** The content of a listener is the name of its route configuration. */
  readonly listeners: Versions = new Map()
  /** Virtual hosts by the name of their route configuration. */
  readonly hosts = new Map<string, Versions>()
  /** Route configurations that a listener needs again which has not got their hosts anew. */
  readonly outdated = new Set<string>()
  /** Versions of the resources that were accepted, by type: what a new stream begins with. */
  readonly #accepted = new Map<string, Versions>()
  readonly #endpoints = new Set<string>()
  readonly #routes = new Set<string>()
  #inbox: Push[] = []
  #stream: AdsStream
  readonly #snapshot: () => NodeSnapshot
  readonly #contentOf: ContentOf

  constructor(snapshot: () => NodeSnapshot, contentOf: ContentOf) {
    this.#snapshot = snapshot
    this.#contentOf = contentOf
    this.#stream = this.#open()
    this.#begin()
  }

  push(): void {
    this.#stream.push()
  }

  close(): void {
    this.#stream.close()
  }

  get isIdle(): boolean {
    return this.#inbox.length === 0
  }

  /** A new stream. Not while something is accepted in part: Envoy does not say of that what it has. */
  reconnect(): void {
    const isTold = (type: string, versions: Versions): boolean =>
      versions.size === this.#of(type).size &&
      [...versions].every(([name, version]) => this.#of(type).get(name) === version)
    if (this.warming.size > 0 || !isTold(CLUSTER_TYPE, this.clusters)) return
    if (!isTold(LISTENER_TYPE, this.listeners)) return
    this.#stream.close()
    this.#stream = this.#open()
    this.#begin()
  }

  /** Route configurations of the listeners. */
  needed(): ReadonlySet<string> {
    return new Set([...this.listeners.values()].map(this.#contentOf))
  }

  /** Listeners that were draining are gone. */
  endDrain(): void {
    const gone = [...this.#routes].filter((name) => !this.needed().has(name))
    for (const name of gone) {
      this.#routes.delete(name)
      this.hosts.delete(name)
      this.#of(ROUTE_TYPE).delete(name)
    }
    if (gone.length > 0) this.#request(ROUTE_TYPE, { resourceNamesUnsubscribe: gone })
  }

  /** Answers the oldest response; false: there is none. */
  answer(): boolean {
    const push = this.#inbox.shift()
    if (push === undefined) return false
    const { typeUrl, nonce, resources, removed } = push
    const good = resources.filter(({ version }) => this.#contentOf(version) !== 'bad')
    const isRefused = good.length < resources.length
    // Clusters and listeners are taken one by one.
    if (!isRefused || typeUrl === CLUSTER_TYPE || typeUrl === LISTENER_TYPE)
      this.#take(typeUrl, good, removed)
    if (!isRefused) {
      for (const { name, version } of resources) this.#of(typeUrl).set(name, version)
      for (const name of removed) this.#of(typeUrl).delete(name)
    }
    const errorDetail = { code: 13, message: 'bad' }
    this.#request(typeUrl, { responseNonce: nonce, ...(isRefused && { errorDetail }) })
    return true
  }

  #take(typeUrl: string, resources: readonly EncodedResource[], removed: readonly string[]): void {
    if (typeUrl === CLUSTER_TYPE) this.#takeClusters(resources, removed)
    if (typeUrl === ENDPOINT_TYPE) for (const { name } of resources) this.warming.delete(name)
    if (typeUrl === LISTENER_TYPE) this.#takeListeners(resources, removed)
    if (typeUrl === ROUTE_TYPE) this.#takeRoutes(resources)
    if (typeUrl === VIRTUAL_HOST_TYPE) this.#takeHosts(resources, removed)
  }

  #takeClusters(resources: readonly EncodedResource[], removed: readonly string[]): void {
    for (const { name, version } of resources) {
      if (this.clusters.get(name) !== version) this.warming.add(name)
      this.clusters.set(name, version)
    }
    this.#subscribe(ENDPOINT_TYPE, this.#endpoints, this.clusters.keys())
    const gone = removed.filter((name) => this.clusters.delete(name))
    for (const name of gone)
      for (const known of [this.warming, this.#endpoints, this.#of(ENDPOINT_TYPE)])
        known.delete(name)
    if (gone.length > 0) this.#request(ENDPOINT_TYPE, { resourceNamesUnsubscribe: gone })
  }

  #takeListeners(resources: readonly EncodedResource[], removed: readonly string[]): void {
    for (const { name, version } of resources) this.listeners.set(name, version)
    for (const name of removed) this.listeners.delete(name)
    this.#subscribe(ROUTE_TYPE, this.#routes, this.needed())
    for (const name of this.hosts.keys()) if (!this.needed().has(name)) this.outdated.add(name)
  }

  /** Envoy keeps a route configuration that is removed. */
  #takeRoutes(resources: readonly EncodedResource[]): void {
    const isFirst = this.hosts.size === 0 && !this.#accepted.has(VIRTUAL_HOST_TYPE)
    for (const { name } of resources)
      if (this.#routes.has(name))
        this.hosts.set(name, this.hosts.get(name) ?? new Map<string, string>())
    if (isFirst && this.hosts.size > 0) {
      this.#of(VIRTUAL_HOST_TYPE)
      this.#request(VIRTUAL_HOST_TYPE, {})
    }
  }

  #takeHosts(resources: readonly EncodedResource[], removed: readonly string[]): void {
    for (const { name, version } of resources)
      this.hosts.get(routeConfigurationOf(name))?.set(name, version)
    for (const name of removed) this.hosts.get(routeConfigurationOf(name))?.delete(name)
    for (const name of [...resources.map((resource) => resource.name), ...removed])
      this.outdated.delete(routeConfigurationOf(name))
  }

  #subscribe(typeUrl: string, known: Set<string>, names: Iterable<string>): void {
    const come = [...names].filter((name) => !known.has(name))
    for (const name of come) known.add(name)
    if (come.length > 0) this.#request(typeUrl, { resourceNamesSubscribe: come })
  }

  #of(typeUrl: string): Versions {
    const known = this.#accepted.get(typeUrl) ?? new Map<string, string>()
    this.#accepted.set(typeUrl, known)
    return known
  }

  #open(): AdsStream {
    const inbox: Push[] = []
    this.#inbox = inbox
    return new AdsStream({
      views: new SharedViews(),
      protocol: 'incremental',
      snapshot: this.#snapshot,
      write: (push, sent) => {
        inbox.push(push)
        queueMicrotask(sent)
      },
      onAck: () => undefined,
      onNack: () => undefined,
      waits: { patienceMs: 60_000, lingerMs: 0 },
    })
  }

  /** Subscribes in the order of a real Envoy. */
  #begin(): void {
    const begin = (typeUrl: string, names: Iterable<string> = []): void =>
      this.#request(typeUrl, {
        resourceNamesSubscribe: [...names],
        initialResourceVersions: Object.fromEntries(this.#of(typeUrl)),
      })
    const hasHosts = this.#accepted.has(VIRTUAL_HOST_TYPE)
    begin(CLUSTER_TYPE)
    if (this.#endpoints.size > 0) begin(ENDPOINT_TYPE, this.#endpoints)
    begin(LISTENER_TYPE)
    if (this.#routes.size > 0) begin(ROUTE_TYPE, this.#routes)
    if (hasHosts) begin(VIRTUAL_HOST_TYPE)
  }

  #request(typeUrl: string, more: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): void {
    const request = create(DeltaDiscoveryRequestSchema, { typeUrl, ...more })
    this.#stream.handle(incremental.read(request))
  }
}
