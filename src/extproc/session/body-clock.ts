// The deadline of what a client sends: without one it could keep its stream open, and the end of Gatehouse waiting, for as
// long as it likes.

import type { Ending } from '../../kit/ending.js'

/** Calls back once after ms milliseconds, unless the returned function is called, or the stream ends, before. */
export function startBodyClock(ms: number, ending: Ending, onOver: () => void): () => void {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  const stop = (): void => {
    isStopped = true
    clearTimeout(timer)
  }
  // Most bodies are whole as soon as all is read that arrived with their headers, and need no timer.
  void Promise.resolve().then(() => {
    if (isStopped || ending.aborted) return
    timer = setTimeout(onOver, ms)
    ending.addEventListener('abort', stop)
  })
  return stop
}
