// Collects garbage once the process is idle after load. V8 collects only when memory is allocated, and an idle process
// allocates none.

import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Signs of an idle process. Sizes are in bytes. */
export interface IdleSigns {
  /** Size of the bodies in progress. */
  readonly held: number
  /** Size of the heap, garbage included. */
  readonly heap: number
  /** Size of the memory outside the heap, garbage included. */
  readonly external: number
  /** Share of the time since the last look in which the thread was busy, 0 to 1. */
  readonly busy: number
}

/** Consecutive looks that must find nothing in progress. */
const QUIET_LOOKS = 3
const LOOK_MS = 1_000
const LITTLE_BUSY = 0.05
/** Least growth that is worth a collection. */
const WORTHWHILE_BYTES = 16 * 1024 ** 2
/** Largest heap to collect: 72 MB take 30 to 90 ms, which delays a request that arrives meanwhile. */
const MAX_HEAP_BYTES = 96 * 1024 ** 2

/** Decides when to collect. */
export class IdleCollection {
  readonly #signs: () => IdleSigns
  readonly #collect: () => void
  #quiet = 0
  /** Least size of heap and external memory since the last collection. */
  #least = Infinity

  constructor(signs: () => IdleSigns, collect: () => void) {
    this.#signs = signs
    this.#collect = collect
  }

  /** Looks at the signs and collects if the process is idle; call it once a second. */
  look(): void {
    const { held, heap, external, busy } = this.#signs()
    const bytes = heap + external
    this.#least = Math.min(this.#least, bytes)
    this.#quiet = held > 0 || busy > LITTLE_BUSY ? 0 : this.#quiet + 1
    if (this.#quiet < QUIET_LOOKS) return
    if (bytes < this.#least + WORTHWHILE_BYTES || heap > MAX_HEAP_BYTES) return
    this.#collect()
    this.#quiet = 0
    // Whatever remains is in use.
    const after = this.#signs()
    this.#least = after.heap + after.external
  }
}

/** Returns a function that stops it. held: bytes of the bodies in progress. */
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

/** Runs a full collection through the `gc` that V8 gives to contexts made under --expose-gc; Node has none. */
function collectGarbage(): void {
  if (collector === undefined) {
    setFlagsFromString('--expose-gc')
    collector = runInNewContext('gc') as () => void
    setFlagsFromString('--no-expose-gc')
  }
  collector()
}
