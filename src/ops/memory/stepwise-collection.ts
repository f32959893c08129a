// Begins a full collection of V8 that runs in steps beside other work. One that a program forces has two costs that this
// has not: it stops the thread until it ends, and it drops the compiled code of most functions, as it removes the hidden
// classes of objects of which none is left just then.

import { constants, type NodeGCPerformanceDetail, PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Begins a full collection as V8 does it when the heap has grown. Resolves when one has ended. */
export const collectInSteps = (): Promise<void> =>
  new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => {
      if (!list.getEntries().some(isFull)) return
      observer.disconnect()
      begin(0)
      resolve()
    })
    observer.observe({ entryTypes: ['gc'] })
    begin(1)
  })

/** Lets V8 begin one if more than this percentage of what the heap may hold is in use; 0: V8 decides. */
const begin = (percent: number): void =>
  setFlagsFromString(`--incremental-marking-soft-trigger=${String(percent)}`)

const isFull = (entry: object): boolean =>
  (entry as { readonly detail: NodeGCPerformanceDetail }).detail.kind ===
  constants.NODE_PERFORMANCE_GC_MAJOR

/**
 * Does the same in a process that allocates nothing which would make V8 look whether a full collection is due: it looks
 * after one of the young generation.
 */
export function collectWhenIdle(): Promise<void> {
  const collected = collectInSteps()
  collectYoung()
  return collected
}

type Collect = (options: { readonly type: 'minor' }) => void

let collector: Collect | undefined

/** Uses the `gc` that V8 gives to contexts made under --expose-gc; Node has none. */
function collectYoung(): void {
  if (collector === undefined) {
    setFlagsFromString('--expose-gc')
    collector = runInNewContext('gc') as Collect
    setFlagsFromString('--no-expose-gc')
  }
  collector({ type: 'minor' })
}
