// The streams that are open, and how they end in a drain: by themselves while there is time, then with UNAVAILABLE.

import { status } from '@grpc/grpc-js'
import { BoxMap } from '../../grpc/box-map.js'
import type { ProcessStream } from './process-stream.js'

export interface OpenStreams {
  /** The function it returns takes the stream out again. */
  add(stream: ProcessStream): () => void
  /** Resolves when none is open. Never ends one with OK, on which Envoy lets its request pass unprocessed. */
  drain(timeoutMs: number): Promise<void>
}

export const createOpenStreams = (): OpenStreams => {
  // By number, as a stream holds the bodies of its request: what has ended must not stay in memory.
  const open = new BoxMap<number, ProcessStream>()
  let number = 0
  let onEmpty = () => {}

  return {
    add: (stream) => {
      const id = number++
      open.set(id, stream)
      return () => {
        open.delete(id)
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
      for (const stream of [...open.values()]) stream.fail(status.UNAVAILABLE, 'shutting down')
    },
  }
}
