// Computes versions and response bytes of a new snapshot in turns, before the first Envoy requests them.

import { type Chunk, namedChunks } from '../../incremental/chunked-list.js'
import { listOf } from '../../incremental/named-map.js'
import type { EncodedResource } from '../encode/encode.js'
import type { SharedViews } from './shared-views.js'
import type { NodeSnapshot } from './snapshot-cache.js'
import type { Turns } from './turns.js'

/** Number of resources that make a job. */
const MOST = 64

/** Prepares the responses of new snapshots. */
export class Preparation {
  readonly #turns: Turns
  readonly #views: SharedViews
  readonly #encode: (chunk: Chunk<EncodedResource>) => void
  #known = new WeakSet<Chunk<EncodedResource>>()

  constructor(turns: Turns, views: SharedViews, encode: (chunk: Chunk<EncodedResource>) => void) {
    this.#turns = turns
    this.#views = views
    this.#encode = encode
  }

  /** Prepares what is new in the snapshot: little, if one of thousands of resources changed. */
  begin(snapshot: NodeSnapshot): void {
    const chunks = [...snapshot.values()]
      .flatMap((resources) => namedChunks(listOf(resources)))
      .filter((chunk) => !this.#known.has(chunk))
    let some: Chunk<EncodedResource>[] = []
    let count = 0
    for (const chunk of chunks) {
      this.#known.add(chunk)
      some.push(chunk)
      count += chunk.length
      if (count < MOST) continue
      this.#prepare(some, count)
      some = []
      count = 0
    }
    if (count > 0) this.#prepare(some, count)
  }

  #prepare(chunks: readonly Chunk<EncodedResource>[], count: number): void {
    this.#turns.run(() => {
      this.#turns.spend(count)
      for (const chunk of chunks) {
        this.#views.versionSum(chunk)
        this.#encode(chunk)
      }
    })
  }
}
