// Memory that a load has left behind is collected once nothing is under way: V8 collects where memory is asked for, and an
// idle process asks for none.

import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What an idle process is known by. Bytes. */
export interface IdleSigns {
  /** Of bodies that are under way. */
  readonly held: number
  /** Of the heap, with garbage. */
  readonly heap: number
  /** Outside of the heap, with what nobody uses any more. */
  readonly external: number
  /** The part of the time since the last look in which the thread was at work, 0 to 1. */
  readonly busy: number
}

/** Looks that must find nothing under way, one after the other. */
const QUIET_LOOKS = 3
const LOOK_MS = 1_000
const LITTLE_BUSY = 0.05
/** Less is not worth a collection. */
const WORTHWHILE_BYTES = 16 * 1024 ** 2
/** A collection of a larger heap would hold up a request that arrives meanwhile for too long: 72 MB take 30 to 90 ms. */
const MAX_HEAP_BYTES = 96 * 1024 ** 2

/** Decides when to collect. */
export class IdleCollection {
  readonly #signs: () => IdleSigns
  readonly #collect: () => void
  #quiet = 0
  /** Of heap and external memory: the least that was seen since the last collection. */
  #least = Infinity

  constructor(signs: () => IdleSigns, collect: () => void) {
    this.#signs = signs
    this.#collect = collect
  }

  /** To be called once a second. */
  look(): void {
    const { held, heap, external, busy } = this.#signs()
    const bytes = heap + external
    this.#least = Math.min(this.#least, bytes)
    this.#quiet = held > 0 || busy > LITTLE_BUSY ? 0 : this.#quiet + 1
    if (this.#quiet < QUIET_LOOKS) return
    if (bytes < this.#least + WORTHWHILE_BYTES || heap > MAX_HEAP_BYTES) return
    this.#collect()
    this.#quiet = 0
    // What is left is in use.
    const after = this.#signs()
    this.#least = after.heap + after.external
  }
}

/** held: bytes of bodies that are under way. Its result ends it. */
export function startIdleCollection(held: () => number): () => void {
  let last: EventLoopUtilization = performance.eventLoopUtilization()
  const signs = (): IdleSigns => {
    const now = performance.eventLoopUtilization()
    const busy = performance.eventLoopUtilization(now, last).utilization
    last = now
    const { used_heap_size: heap, external_memory: external } = getHeapStatistics()
    return { held: held(), heap, external, busy }
  }
  const idle = new IdleCollection(signs, collectGarbage)
  const timer = setInterval(() => idle.look(), LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

let collector: (() => void) | undefined

/** Node has no function for it but the one that V8 gives to contexts made while this flag is set. */
function collectGarbage(): void {
  if (collector === undefined) {
    setFlagsFromString('--expose-gc')
    collector = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
  }
  collector()
}
