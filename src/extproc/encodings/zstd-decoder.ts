// zstd (RFC 8878). The decoder trusts its input with memory and time: it gets whole blocks, whose outline was looked at
// before, and each within a time limit.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { createContext, Script } from 'node:vm'
import { Decompress } from 'fzstd'
import { NOTHING, type Decoder } from './decoder.js'
import { blockAt, frameHeader, type FrameHeader } from './zstd-frame.js'

/** Nothing else runs meanwhile. An honest block takes a few milliseconds. */
const MAX_BLOCK_MS = 500
/** For all blocks of one piece: many small ones with a large window take long too. */
const MAX_MS = 10_000

/** One frame. maxBytes: what one piece may stand for. */
export function zstdDecoder(maxBytes: number): Decoder {
  let unread = Buffer.alloc(0)
  let frame: FrameHeader | undefined
  let state: 'start' | 'open' | 'ended' | 'closed' = 'start'
  let pieces: Uint8Array[] = []
  let size = 0

  const decoder = new Decompress((piece) => {
    size += piece.length
    if (size > maxBytes) throw new Error('larger than it may be')
    pieces.push(piece)
  })
  const limited = createTimeLimit()
  /** The next block that is there, the first with the frame's header, the last with its checksum. */
  const nextBlock = (): Uint8Array | undefined => {
    frame ??= frameHeader(unread)
    if (frame === undefined || state === 'ended' || state === 'closed') return undefined
    const start = state === 'start' ? frame.length : 0
    const block = blockAt(unread, start, frame.hasChecksum)
    if (block === undefined) return undefined
    state = block.isLast ? 'ended' : 'open'
    const bytes = unread.subarray(0, start + block.length)
    unread = unread.subarray(bytes.length)
    return bytes
  }
  const read = async (): Promise<void> => {
    let leftMs = MAX_MS
    for (let block = nextBlock(); block !== undefined; block = nextBlock()) {
      const began = performance.now()
      const bytes = block
      limited(Math.min(leftMs, MAX_BLOCK_MS), () => {
        decoder.push(bytes, state === 'ended')
      })
      leftMs -= performance.now() - began
      await nextTurn()
    }
    if (state === 'closed') throw new Error('nobody waits for it')
    if (state === 'ended' && unread.length > 0) throw new Error('there is more after its frame')
  }
  return {
    push: async (bytes) => {
      unread = Buffer.concat([unread, bytes])
      try {
        await read()
      } catch {
        return undefined
      }
      const decoded = Buffer.concat(pieces, size)
      ;[pieces, size] = [[], 0]
      return decoded
    },
    end: () => {
      const isNothing = state === 'start' && unread.length === 0
      return Promise.resolve(state === 'ended' || isNothing ? NOTHING : undefined)
    },
    close: () => {
      state = 'closed'
    },
  }
}

const RUN = new Script('run()')

/** Ends what runs too long: a block of a few bytes can make the decoder copy for minutes. */
function createTimeLimit(): (timeoutMs: number, run: () => void) => void {
  const scope: { run?: () => void } = {}
  const context = createContext(scope)
  return (timeoutMs, run) => {
    scope.run = run
    RUN.runInContext(context, { timeout: Math.max(1, Math.ceil(timeoutMs)) })
  }
}
