// The deadline of what a client sends: without one it could keep its stream open, and the end of Gatehouse waiting, for as
// long as it likes.

import type { Ending } from '../../ending.js'

/** Calls back once after ms milliseconds, unless the returned function is called, or the stream ends, before. */
export function startBodyClock(ms: number, ending: Ending, onOver: () => void): () => void {
  const timer = setTimeout(onOver, ms)
  const stop = (): void => clearTimeout(timer)
  ending.addEventListener('abort', stop)
  return stop
}
