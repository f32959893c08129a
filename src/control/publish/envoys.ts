// Records from the reports of the ADS server what each Envoy was sent, has acknowledged and has NACKed.

import { LISTENER_TYPE } from '../../xds/encode/type-urls.js'
import type { AdsPeer } from '../../xds/server/ads-server.js'

/** What is known of a connected Envoy. */
export interface EnvoyState {
  readonly node: string
  readonly cluster: string
  readonly connected: boolean
  readonly types: readonly EnvoyTypeState[]
}

/** Versions of one type at an Envoy. */
export interface EnvoyTypeState {
  /** Type URL. */
  readonly type: string
  readonly sent?: string
  readonly acked?: string
  /** The last NACK, while any part of the type is rejected. */
  readonly nacked?: Nack
}

/** A rejection by an Envoy. */
export interface Nack {
  readonly version: string
  readonly message: string
  /** Time in ISO 8601. */
  readonly at: string
}

interface Stream {
  readonly peer: AdsPeer
  readonly types: Map<string, EnvoyTypeState>
  connected: boolean
}

// Maximum number of disconnected streams in the status; the oldest are dropped.
const MAX_GONE = 16

/** The states of all Envoys. */
export class Envoys {
  readonly #streams = new Map<number, Stream>()

  sent(peer: AdsPeer, type: string, version: string): void {
    this.#update(peer, type, { sent: version })
  }

  /** isAll: whether nothing of the type is rejected any more; otherwise the ACK was for another part. */
  acked(peer: AdsPeer, type: string, version: string, isAll: boolean): void {
    const { sent, nacked } = this.#stateOf(peer, type)
    this.#streamOf(peer).types.set(type, {
      type,
      acked: version,
      ...(sent !== undefined && { sent }),
      ...(nacked !== undefined && !isAll && { nacked }),
    })
  }

  nacked(peer: AdsPeer, type: string, nack: Nack): void {
    this.#update(peer, type, { nacked: nack })
  }

  closed(peer: AdsPeer): void {
    const stream = this.#streams.get(peer.stream)
    if (stream === undefined) return
    stream.connected = false
    const gone = [...this.#streams.values()].filter(({ connected }) => !connected)
    for (const { peer: old } of gone.slice(0, Math.max(0, gone.length - MAX_GONE)))
      this.#streams.delete(old.stream)
  }

  /** Number of connected streams by Envoy version. */
  versions(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { peer, connected } of this.#streams.values()) {
      const version = peer.envoyVersion ?? 'unknown'
      if (connected) counts.set(version, (counts.get(version) ?? 0) + 1)
    }
    return counts
  }

  /** Whether a connected Envoy of that id has accepted listeners and the last version of every type, without NACKs. */
  hasAccepted(node: string): boolean {
    return [...this.#streams.values()].some(
      ({ peer, connected, types }) =>
        connected &&
        peer.node === node &&
        types.get(LISTENER_TYPE)?.acked !== undefined &&
        [...types.values()].every(
          ({ sent, acked, nacked }) => sent === acked && nacked === undefined,
        ),
    )
  }

  /** Returns every connected stream, and the last one of each node without any; sorted by node. */
  report(): readonly EnvoyState[] {
    const streams = [...this.#streams.values()]
    const connected = streams.filter((stream) => stream.connected)
    const present = new Set(connected.map(({ peer }) => peer.node))
    const gone = new Map(
      streams.filter(({ peer }) => !present.has(peer.node)).map((s) => [s.peer.node, s]),
    )
    return [...connected, ...gone.values()]
      .map(({ peer: { node, cluster }, connected, types }) => ({
        node,
        cluster,
        connected,
        types: [...types.values()],
      }))
      .sort((a, b) => (a.node < b.node ? -1 : 1))
  }

  #update(peer: AdsPeer, type: string, change: Partial<EnvoyTypeState>): void {
    this.#streamOf(peer).types.set(type, { ...this.#stateOf(peer, type), ...change })
  }

  #stateOf(peer: AdsPeer, type: string): EnvoyTypeState {
    return this.#streamOf(peer).types.get(type) ?? { type }
  }

  #streamOf(peer: AdsPeer): Stream {
    const known = this.#streams.get(peer.stream)
    if (known !== undefined) return known
    const stream: Stream = { peer, types: new Map(), connected: true }
    this.#streams.set(peer.stream, stream)
    return stream
  }
}
