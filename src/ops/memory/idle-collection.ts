// Collects garbage once the process is idle after load. V8 collects when memory is allocated, and an idle process allocates
// none.

import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { versions } from 'node:process'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { collectWhenIdle } from './stepwise-collection.js'

/** Signs of an idle process. Sizes are in bytes. */
export interface IdleSigns {
  /** Size of the bodies in progress. */
  readonly held: number
  /** Size of the heap, garbage included. */
  readonly heap: number
  /** Size of the memory that V8 has for the heap. */
  readonly reserved: number
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
/** Largest heap to collect: the last step of a large one delays a request that arrives meanwhile. */
const MAX_HEAP_BYTES = 96 * 1024 ** 2

/** Memory that V8 keeps for the next load: what the young generation takes, and some more. */
const KEPT_BYTES = 64 * 1024 ** 2
/** Consecutive looks that find nothing in progress, within which V8 gives back memory. It waits 8 s before it begins. */
const GIVING_BACK_LOOKS = 30

/** What V8 is told. */
export interface Collector {
  /** Begins a full collection. Resolves when one has ended. */
  collect(): Promise<void>
  /** Whether V8's own collections of an idle process give its memory back, and drop compiled code. */
  favorMemory(favors: boolean): void
}

/** Decides when to collect, and whether compiled code or memory is worth more. */
export class IdleCollection {
  readonly #signs: () => IdleSigns
  readonly #collector: Collector
  #quiet = 0
  /** Maximum of what V8 has had for the heap since it gave back memory. */
  #peak = 0
  #favorsMemory = true
  #isCollecting = false
  /** Least size of heap and external memory since the last collection. */
  #least = Infinity

  constructor(signs: () => IdleSigns, collector: Collector) {
    this.#signs = signs
    this.#collector = collector
  }

  /** Looks at the signs and collects if the process is idle; call it once a second. */
  look(): void {
    const { held, heap, reserved, external, busy } = this.#signs()
    const bytes = heap + external
    const isQuiet = held === 0 && busy <= LITTLE_BUSY
    this.#quiet = isQuiet ? this.#quiet + 1 : 0
    this.#choose(reserved)
    if (this.#isCollecting) return
    this.#least = Math.min(this.#least, bytes)
    if (this.#quiet < QUIET_LOOKS) return
    if (bytes < this.#least + WORTHWHILE_BYTES || heap > MAX_HEAP_BYTES) return
    this.#isCollecting = true
    void this.#collector.collect().then(() => this.#collected())
  }

  #choose(reserved: number): void {
    this.#peak = this.#quiet >= GIVING_BACK_LOOKS ? reserved : Math.max(this.#peak, reserved)
    const favors = this.#peak > reserved + KEPT_BYTES
    if (favors !== this.#favorsMemory) this.#collector.favorMemory(favors)
    this.#favorsMemory = favors
  }

  /** Whatever remains is in use. */
  #collected(): void {
    const { heap, external } = this.#signs()
    this.#least = heap + external
    this.#isCollecting = false
  }
}

/** Returns a function that stops it. held: bytes of the bodies in progress. */
export function startIdleCollection(held: () => number): () => void {
  let last: EventLoopUtilization = performance.eventLoopUtilization()
  const signs = (): IdleSigns => {
    const now = performance.eventLoopUtilization()
    const busy = performance.eventLoopUtilization(now, last).utilization
    last = now
    const {
      used_heap_size: heap,
      total_heap_size: reserved,
      external_memory: external,
    } = getHeapStatistics()
    return { held: held(), heap, reserved, external, busy }
  }
  const idle = new IdleCollection(signs, { collect: collectWhenIdle, favorMemory })
  const timer = setInterval(() => idle.look(), LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** Node 22 does not know the flag, and prints an error. */
function favorMemory(favors: boolean): void {
  if (!versions.v8.startsWith('13.')) return
  setFlagsFromString(`--${favors ? '' : 'no-'}memory-reducer-favors-memory`)
}
