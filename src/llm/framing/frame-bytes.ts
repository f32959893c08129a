// The bytes of the frame that is being read, up to a limit.

import { err, ok, type Result } from '../../result.js'
import type { EventFrame } from './frame.js'

const TOO_LARGE = err('an event of the stream is too large')

export class FrameBytes {
  private parts: Uint8Array[] = []
  private size = 0

  /** maxBytes: of one frame, with what stands around its data. */
  constructor(
    private readonly maxBytes: number,
    private readonly frameOf: (raw: string) => Result<EventFrame, string>,
  ) {}

  /** Bytes that are kept. */
  get held(): number {
    return this.size
  }

  /** The bytes are copied: their buffer may be used again. */
  keep(bytes: Uint8Array): Result<undefined, string> {
    if (bytes.length === 0) return ok(undefined)
    this.size += bytes.length
    if (this.size > this.maxBytes) return TOO_LARGE
    this.parts.push(new Uint8Array(bytes))
    return ok(undefined)
  }

  /** The frame that ends with these bytes; none when there are no bytes at all. */
  take(bytes: Uint8Array): Result<readonly EventFrame[], string> {
    const kept = this.keep(bytes)
    if (!kept.ok) return kept
    if (this.size === 0) return ok([])
    const raw = decoded(Buffer.concat(this.parts))
    this.parts = []
    this.size = 0
    if (raw === undefined) return err('an event of the stream is not UTF-8')
    const frame = this.frameOf(raw)
    return frame.ok ? ok([frame.value]) : frame
  }

  /** cuts: where frames end, in ascending order; the rest is kept. */
  cut(bytes: Uint8Array, cuts: readonly number[]): Result<readonly EventFrame[], string> {
    const frames: EventFrame[] = []
    let from = 0
    for (const to of cuts) {
      const taken = this.take(bytes.subarray(from, to))
      if (!taken.ok) return taken
      frames.push(...taken.value)
      from = to
    }
    const kept = this.keep(bytes.subarray(from))
    return kept.ok ? ok(frames) : kept
  }
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
