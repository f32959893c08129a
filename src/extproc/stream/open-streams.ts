// The streams that are open, and how they end in a drain: by themselves while there is time, then with UNAVAILABLE.

import { Status } from '../../grpc/status.js'
import type { ProcessStream } from './process-stream.js'

export interface OpenStreams {
  /** The function it returns takes the stream out again. */
  add(stream: ProcessStream): () => void
  /** Resolves when none is open. Never ends one with OK, on which Envoy lets its request pass unprocessed. */
  drain(timeoutMs: number): Promise<void>
}

export function createOpenStreams(): OpenStreams {
  // In boxes that are emptied, as a stream holds the bodies of its request: what a Set has outgrown keeps what was in it.
  const open = new Set<{ stream: ProcessStream | undefined }>()
  let onEmpty = () => {}

  return {
    add: (stream) => {
      const box: { stream: ProcessStream | undefined } = { stream }
      open.add(box)
      return () => {
        box.stream = undefined
        open.delete(box)
        if (open.size === 0) onEmpty()
      }
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
      for (const { stream } of [...open]) stream?.fail(Status.UNAVAILABLE, 'shutting down')
    },
  }
}
