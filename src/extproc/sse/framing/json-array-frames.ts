// Reads the items of a JSON array from bytes cut anywhere: Gemini's stream for clients that do not ask for SSE.

import { err, ok, type Result } from '../../../kit/result.js'
import type { Pace, Work } from '../../../kit/turns.js'
import type { EventFrame, EventFrameReader, FrameSink, Reading } from './frame.js'
import { FrameCutter } from './frame-cutter.js'

const NO_ARRAY = err('the stream is not a JSON array of objects')

/** maxBytes: of one item, including what precedes it. */
export const createJsonArrayReader = (maxBytes: number): EventFrameReader =>
  new JsonArrayReader(maxBytes)

class JsonArrayReader implements EventFrameReader {
  #isOver = false
  readonly #scanner = new ArrayScanner()
  readonly #cutter: FrameCutter

  constructor(maxBytes: number) {
    this.#cutter = new FrameCutter(maxBytes, {
      ends: (bytes) => this.#scanner.ends(bytes),
      frameOf: (raw, pace) => this.#frameOf(raw, pace),
    })
  }

  get held(): number {
    return this.#cutter.held
  }

  push(bytes: Uint8Array, take: FrameSink): Reading {
    return this.#cutter.push(bytes, take)
  }

  *end(take: FrameSink): Reading {
    if (this.#scanner.isWithinItem) return err('the stream ends within an event')
    this.#isOver = true
    return yield* this.#cutter.end(take)
  }

  *#frameOf(raw: string, pace: Pace): Work<Result<EventFrame, string>> {
    if (pace.isDue()) yield
    return ok(this.#isOver ? { raw } : frameOf(raw))
  }
}

/** Only white space and one mark can precede an item. */
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

/** What may follow outside of items, apart from white space. */
const NEXT = {
  start: { '[': 'first' },
  first: { '{': 'item', ']': 'over' },
  more: { '{': 'item' },
  mark: { ',': 'more', ']': 'over' },
  over: {},
} as const satisfies Record<string, Partial<Record<string, string>>>

type State = keyof typeof NEXT | 'item'

class ArrayScanner {
  #state: State = 'start'
  #depth = 0
  #isString = false
  #isEscaped = false

  get isWithinItem(): boolean {
    return this.#state === 'item'
  }

  /** Returns where items end in the bytes. */
  ends(bytes: Uint8Array): Result<readonly number[], string> {
    const ends: number[] = []
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0
      if (this.#state !== 'item') {
        if (!this.#outside(byte)) return NO_ARRAY
      } else if (this.#endsItem(byte)) ends.push(at + 1)
    }
    return ok(ends)
  }

  #outside(byte: number): boolean {
    if (SPACE.has(byte)) return true
    const next: Partial<Record<string, State>> = NEXT[this.#state as keyof typeof NEXT]
    const state = next[String.fromCharCode(byte)]
    if (state === undefined) return false
    this.#state = state
    this.#depth = 1
    return true
  }

  /** Leaves it to the reader of the item to check which bracket closes which. */
  #endsItem(byte: number): boolean {
    if (this.#isString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === BACKSLASH) this.#isEscaped = true
      else if (byte === QUOTE) this.#isString = false
      return false
    }
    if (byte === QUOTE) this.#isString = true
    else if (OPEN.has(byte)) this.#depth += 1
    else if (CLOSE.has(byte)) this.#depth -= 1
    if (this.#depth > 0) return false
    this.#state = 'mark'
    return true
  }
}
