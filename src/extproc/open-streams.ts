// The streams that are open, and how they end in a drain: by themselves while there is time, then with UNAVAILABLE.

import { status } from '@grpc/grpc-js'
import type { ProcessStream } from './process-stream.js'

export interface OpenStreams {
  add(stream: ProcessStream): void
  delete(stream: ProcessStream): void
  /** Resolves when none is open. Never ends one with OK, on which Envoy lets its request pass unprocessed. */
  drain(timeoutMs: number): Promise<void>
}

export const createOpenStreams = (): OpenStreams => {
  const open = new Set<ProcessStream>()
  let onEmpty = () => {}

  return {
    add: (stream) => open.add(stream),
    delete: (stream) => {
      open.delete(stream)
      if (open.size === 0) onEmpty()
    },
    drain: async (timeoutMs) => {
      if (open.size === 0) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs)
        onEmpty = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      for (const stream of [...open]) stream.fail(status.UNAVAILABLE, 'shutting down')
    },
  }
}
