// Tracks open streams. A drain lets them end by themselves for a while, then ends the rest with UNAVAILABLE.

import { Status } from '../../wire/grpc/status.js'
import type { ProcessStream } from './process-stream.js'

/** The open streams of a service. */
export interface OpenStreams {
  /** Returns a function that removes the stream again. */
  add(stream: ProcessStream): () => void
  /** Resolves when no stream is open. Never ends one with OK, on which Envoy lets its request pass unprocessed. */
  drain(timeoutMs: number): Promise<void>
}

/** Creates an empty set of streams. */
export function createOpenStreams(): OpenStreams {
  // Boxed, and each box emptied on removal: a stream holds the bodies of its request, and the table that a Set has
  // outgrown still references what was in it.
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
