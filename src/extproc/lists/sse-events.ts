// Reads the events of an MCP server's stream (WHATWG HTML section 9.2), each with its raw bytes, so unchanged events
// leave as they arrived. Works in slices: an event may be as large as a body, or have tens of thousands of lines.

import { type Pace, PIECE, replaceInTurns, unitsOf, type Work } from '../../kit/turns.js'
import { decodeUtf8InTurns, encodeUtf8InTurns, joinInTurns } from '../../kit/utf8.js'

/** A blank line: two line ends. A CR at the end of the text may be half of one. */
const END = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n|$))/g

const LF = 0x0a
const CR = 0x0d
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** An event as received, and its data. */
export interface ServerEvent {
  readonly raw: Buffer
  /** undefined: it has none (a comment). */
  readonly data: string | undefined
  /** Whether it is called a message, or nothing. Only some clients read the data of others. */
  readonly isMessage: boolean
  /** The lines of its data. */
  readonly lines: readonly Line[]
}

/** Offsets in the bytes of an event. */
interface Line {
  readonly start: number
  readonly value: number
  readonly end: number
  /** Offset after the line end; equal to end if there is none. */
  readonly next: number
}

/** Splits the bytes of a stream into events. */
export interface ServerEventReader {
  /** Returns the number of bytes of the incomplete event. */
  held(): number
  /** Yields the bytes of each complete event, valid until the next push(). The caller must take all of them. */
  push(bytes: Uint8Array): Generator<Buffer>
  /** Returns the bytes after the last complete event; undefined: none. */
  rest(): Buffer | undefined
}

/** Bytes of buffer that the reader keeps while nothing is held. */
const ROOM = 4096

/** Creates a reader at the start of a stream. */
export function createServerEventReader(): ServerEventReader {
  // Grows by doubling: an event that arrives in many pieces is copied about twice, not once per piece.
  let room = Buffer.allocUnsafe(ROOM)
  let held = 0
  let searched = 0
  const append = (bytes: Uint8Array): void => {
    const needed = held + bytes.length
    if (needed > room.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * room.length))
      room.copy(larger, 0, 0, held)
      room = larger
    }
    room.set(bytes, held)
    held = needed
  }
  const keepFrom = (from: number): void => {
    const rest = room.subarray(from, held)
    if (from > 0) room = Buffer.concat([rest], Math.max(ROOM, rest.length))
    held = rest.length
    searched = Math.max(0, held - 3)
  }
  function* take(piece: Uint8Array): Generator<Buffer> {
    append(piece)
    const text = room.toString('latin1', searched, held)
    const end = new RegExp(END)
    let from = 0
    while (end.exec(text) !== null) {
      const to = searched + end.lastIndex
      yield room.subarray(from, to)
      from = to
    }
    keepFrom(from)
  }
  return {
    held: () => held,
    *push(bytes) {
      for (let from = 0; from < bytes.length; from += PIECE)
        yield* take(bytes.subarray(from, from + PIECE))
    },
    rest: () => (held === 0 ? undefined : room.subarray(0, held)),
  }
}

/** Maximum number of lines of an event. Nobody writes more, and each costs more than its characters. */
const MOST_LINES = 50_000

/** undefined: the data is not UTF-8, the event has too many lines, or a line is JSON without a field. */
export function* readEvent(raw: Buffer, pace: Pace): Work<ServerEvent | undefined> {
  const lines: Line[] = []
  let isMessage = true
  let count = 0
  for (const line of linesOf(raw)) {
    if (pace.isDue(unitsOf((line.next - line.start) / LINE_UNITS))) yield
    if ((count += 1) > MOST_LINES) return undefined
    if (isJson(raw, line)) return undefined
    if (isField(raw, line, 'data')) lines.push(line)
    if (isField(raw, line, 'event'))
      isMessage = ['', 'message'].includes(raw.toString('latin1', line.value, line.end))
  }
  if (lines.length === 0) return { raw, data: undefined, isMessage, lines: [] }
  const values = lines.flatMap(({ value, end }, index) =>
    index === 0 ? [raw.subarray(value, end)] : [NEW_LINE, raw.subarray(value, end)],
  )
  const data = yield* decodeUtf8InTurns(yield* joinInTurns(values, pace), pace)
  return data === undefined ? undefined : { raw, data, isMessage, lines }
}

const NEW_LINE = Buffer.from('\n')
/** How many times faster a line end is found than a character is read. */
const LINE_UNITS = 8

/** Yields each line; the last one may have no line end. */
function* linesOf(raw: Buffer): Generator<Line> {
  let start = raw.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0
  let [lf, cr] = [-1, -1]
  while (start < raw.length) {
    if (lf < start) lf = placeOf(raw, LF, start)
    if (cr < start) cr = placeOf(raw, CR, start)
    const end = Math.min(lf, cr)
    const next = Math.min(end + (lf === cr + 1 ? 2 : 1), raw.length)
    yield { start, value: valueIn(raw, start, end), end, next }
    start = next
  }
}

/** Returns the offset of the byte, or the end if it is not found. */
function placeOf(raw: Buffer, byte: number, from: number): number {
  const at = raw.indexOf(byte, from)
  return at === -1 ? raw.length : at
}

const COLON = 0x3a
const BLANK = 0x20
const TAB = 0x09
const OBJECT = 0x7b
const ARRAY = 0x5b

/** Whether a line is JSON, which clients that take the stream for lines of JSON would read. */
function isJson(raw: Buffer, { start, end }: Line): boolean {
  let at = start
  while (at < end && (raw[at] === BLANK || raw[at] === TAB)) at += 1
  return at < end && (raw[at] === OBJECT || raw[at] === ARRAY)
}

/** Returns the offset after the field name, its colon and one blank. */
function valueIn(raw: Buffer, start: number, end: number): number {
  const colon = raw.subarray(start, Math.min(end, start + LONGEST_NAME + 1)).indexOf(COLON)
  if (colon === -1) return end
  const from = start + colon + 1
  return from < end && raw[from] === BLANK ? from + 1 : from
}

/** Length of the longest field name that is looked for. */
const LONGEST_NAME = 'event'.length

function isField(raw: Buffer, { start, end }: Line, name: string): boolean {
  const behind = start + name.length
  if (raw.toString('latin1', start, Math.min(end, behind)) !== name) return false
  return behind === end || raw[behind] === COLON
}

/** Returns the event with other data; its other lines stay unchanged. */
export function* withEventData(
  { raw, lines }: ServerEvent,
  data: string,
  pace: Pace,
): Work<Buffer> {
  const [first, ...others] = lines
  if (first === undefined) return raw
  const lineEnd = raw.toString('latin1', first.end, first.next)
  const between = `${lineEnd === '' ? '\n' : lineEnd}data: `
  const text = yield* replaceInTurns(data, '\n', between, pace)
  const start = raw.indexOf(BYTE_ORDER_MARK) === 0 ? BYTE_ORDER_MARK.length : 0
  const parts: Uint8Array[] = [raw.subarray(start, first.start), DATA]
  parts.push(yield* encodeUtf8InTurns(text, pace), Buffer.from(lineEnd))
  let from = first.next
  for (const other of others) {
    parts.push(raw.subarray(from, other.start))
    from = other.next
  }
  parts.push(raw.subarray(from))
  return yield* joinInTurns(parts, pace)
}

const DATA = Buffer.from('data: ')
