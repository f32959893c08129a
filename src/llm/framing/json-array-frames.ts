// The items of a JSON array ← bytes, cut anywhere: how Gemini streams a reply to who does not ask for SSE.

import { err, type Result } from '../../result.js'
import type { EventFrame, EventFrameReader } from './frame.js'
import { FrameBytes } from './frame-bytes.js'

const NO_ARRAY = err('the stream is not a JSON array of objects')

/** maxBytes: of one item with what stands before it. */
export function createJsonArrayReader(maxBytes: number): EventFrameReader {
  let isOver = false
  const bytes = new FrameBytes(maxBytes, (raw) => ({
    ok: true,
    value: isOver ? { raw } : frameOf(raw),
  }))
  const scanner = new ArrayScanner()
  return {
    get held() {
      return bytes.held
    },
    push(chunk): Result<readonly EventFrame[], string> {
      const cuts = scanner.cuts(chunk)
      return cuts === undefined ? NO_ARRAY : bytes.cut(chunk, cuts)
    },
    end(): Result<readonly EventFrame[], string> {
      if (scanner.isWithinItem) return err('the stream ends within an event')
      isOver = true
      return bytes.take(new Uint8Array())
    },
  }
}

/** Nothing but white space and one mark stands before an item. */
function frameOf(raw: string): EventFrame {
  const start = raw.indexOf('{')
  const around = { before: raw.slice(0, start), after: '', between: '\n' }
  return { raw, data: raw.slice(start), around }
}

const code = (mark: string): number => mark.charCodeAt(0)
const QUOTE = code('"')
const BACKSLASH = code('\\')
const OPEN: ReadonlySet<number> = new Set([code('{'), code('[')])
const CLOSE: ReadonlySet<number> = new Set([code('}'), code(']')])
const SPACE: ReadonlySet<number> = new Set([0x20, 0x0a, 0x0d, 0x09])

/** What may come next, outside of items, besides white space. */
const NEXT = {
  start: { '[': 'first' },
  first: { '{': 'item', ']': 'over' },
  more: { '{': 'item' },
  mark: { ',': 'more', ']': 'over' },
  over: {},
} as const satisfies Record<string, Partial<Record<string, string>>>

type State = keyof typeof NEXT | 'item'

class ArrayScanner {
  private state: State = 'start'
  private depth = 0
  private isString = false
  private isEscaped = false

  get isWithinItem(): boolean {
    return this.state === 'item'
  }

  /** Where items end in the chunk; undefined: it does not go on as an array of objects. */
  cuts(chunk: Uint8Array): readonly number[] | undefined {
    const cuts: number[] = []
    for (const [at, byte] of chunk.entries()) {
      if (this.state !== 'item') {
        if (!this.outside(byte)) return undefined
      } else if (this.endsItem(byte)) cuts.push(at + 1)
    }
    return cuts
  }

  private outside(byte: number): boolean {
    if (SPACE.has(byte)) return true
    const next: Partial<Record<string, State>> = NEXT[this.state as keyof typeof NEXT]
    const state = next[String.fromCharCode(byte)]
    if (state === undefined) return false
    this.state = state
    this.depth = 1
    return true
  }

  /** Which bracket closes which is for the reader of the item to say. */
  private endsItem(byte: number): boolean {
    if (this.isString) {
      if (this.isEscaped) this.isEscaped = false
      else if (byte === BACKSLASH) this.isEscaped = true
      else if (byte === QUOTE) this.isString = false
      return false
    }
    if (byte === QUOTE) this.isString = true
    else if (OPEN.has(byte)) this.depth += 1
    else if (CLOSE.has(byte)) this.depth -= 1
    if (this.depth > 0) return false
    this.state = 'mark'
    return true
  }
}
