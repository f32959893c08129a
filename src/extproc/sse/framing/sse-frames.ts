// Reads server-sent events (WHATWG HTML section 9.2) from bytes that are cut anywhere. A line that is not a field is an
// error, as some clients could read it as data. Output has only the standard's line ends, and no text beside the data.
// Errors name the line.

import { err, ok, type Result } from '../../../kit/result.js'
import { type Pace, PIECE, piecesOf, unitsOf, type Work } from '../../../kit/turns.js'
import { type DataPlace, type EventFrame, type EventFrameReader, withoutLineEnds } from './frame.js'
import { FrameCutter } from './frame-cutter.js'

const LF = 0x0a
const CR = 0x0d

/**
 * What becomes of the ids of events. "kept": clients send them back, so each leaves as it is or is an error. "dropped":
 * nobody sends them back, and an id that could be a text leaves as an empty comment.
 */
export type EventIds = 'kept' | 'dropped'

/** maxBytes: of one event, including its line ends. */
export function createSseReader(maxBytes: number, ids: EventIds = 'dropped'): EventFrameReader {
  let line = 1
  const ends = createCutter()
  return new FrameCutter(maxBytes, {
    ends: (bytes) => ok(ends(bytes)),
    place: () => lineName(line),
    frameOf: function* (raw, pace) {
      const frame = yield* frameOf(raw, { line, ids }, pace)
      line += frame.ok ? frame.value.lines : 0
      return frame.ok ? ok(frame.value.frame) : frame
    },
  })
}

const lineName = (line: number): string => `line ${String(line)}`

/** Finds where frames end in each chunk in turn: after a blank line. */
function createCutter(): (chunk: Uint8Array) => readonly number[] {
  let isBlank = true
  let last = LF
  // A blank line ends with CR: the next byte tells whether LF belongs to it.
  let isOpen = false
  return (chunk) => {
    const cuts: number[] = []
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      if (isOpen) cuts.push(byte === LF ? at + 1 : at)
      const isSecondHalf = byte === LF && last === CR
      if (byte === LF && isBlank && !isSecondHalf) cuts.push(at + 1)
      isOpen = byte === CR && isBlank
      isBlank = byte === LF || byte === CR
      last = byte
    }
    return cuts
  }
}

/** Maximum number of lines of an event. Nobody writes that many, and each costs more than its characters. */
const MOST_LINES = 50_000

interface FrameContext {
  /** Number of its first line, from 1. */
  readonly line: number
  readonly ids: EventIds
}

interface ReadFrame {
  readonly frame: EventFrame
  /** Number of its lines. */
  readonly lines: number
}

function* frameOf(
  raw: string,
  { line: first, ids }: FrameContext,
  pace: Pace,
): Work<Result<ReadFrame, string>> {
  const start = first === 1 && raw.startsWith('\ufeff') ? 1 : 0
  const place = lineName(first)
  const simple = simpleFrame(raw, place)
  if (simple !== undefined) return ok({ frame: simple, lines: 2 })
  const data: string[] = []
  let passed = raw.slice(0, start)
  let before = ''
  let lineEnd = ''
  let after = ''
  let hasText = false
  let count = 0
  for (const { line, end } of linesOf(raw, start)) {
    count += 1
    if (count > MOST_LINES) return err(`an event of the stream has too many lines (${place})`)
    if (pace.isDue(unitsOf(line.length))) yield
    const passedLine = yield* lineToPass(line, ids, pace)
    if (passedLine === undefined)
      return err(`a line of the stream is not of an event (${nameOf(line, first + count - 1)})`)
    const whole = passedLine + end
    if (fieldOf(line) === 'data') {
      if (data.length === 0) [before, lineEnd] = [passed, end]
      data.push(passedLine.slice(passedLine.startsWith('data: ') ? 6 : 5))
      hasText ||= yield* saysSomething(passedLine, pace)
    } else if (data.length > 0) after += whole
    passed += whole
  }
  if (!hasText) return ok({ frame: { raw: passed }, lines: count })
  const between = `${lineEnd === '' ? '\n' : lineEnd}data: `
  const around = { before: `${before}data: `, after: lineEnd + after, between }
  return ok({ frame: { raw: passed, data: data.join('\n'), around, place }, lines: count })
}

/** Names a line, and its field if events have it, without any of its text. */
function nameOf(line: string, number: number): string {
  const field = fieldOf(line)
  return FIELDS.has(field) ? `${lineName(number)}: ${field}` : lineName(number)
}

const FIELDS: ReadonlySet<string> = new Set(['data', 'event', 'id', 'retry'])

/** Reads nearly every event: one short line of data that passes unchanged, and a blank one. undefined: another form. */
function simpleFrame(raw: string, place: string): EventFrame | undefined {
  const end = raw.length - 2
  if (raw.length > PIECE || raw.indexOf('\n') !== end) return undefined
  if (!raw.startsWith('data: ') || !raw.endsWith('\n\n')) return undefined
  const data = raw.slice(6, end)
  return NOT_SIMPLE.test(data) || data.trim() === ''
    ? undefined
    : { raw, data, around: SIMPLE, place }
}

const SIMPLE: DataPlace = { before: 'data: ', after: '\n\n', between: '\ndata: ' }

interface Line {
  readonly line: string
  /** Its line end; empty at the end of the text. */
  readonly end: string
}

function* linesOf(raw: string, start: number): Generator<Line> {
  const [lf, cr] = [positions(raw, '\n'), positions(raw, '\r')]
  for (let at = start; at < raw.length;) {
    const [nextLf, nextCr] = [lf(at), cr(at)]
    const to = Math.min(nextLf, nextCr)
    const next = to === raw.length ? to : nextLf === to + 1 && nextCr === to ? to + 2 : to + 1
    yield { line: raw.slice(at, to), end: raw.slice(to, next) }
    at = next
  }
}

/** Finds the next mark from an offset on, or else the end of the text. The offsets must ascend. */
function positions(text: string, mark: string): (from: number) => number {
  let found = -1
  return (from) => {
    if (found < from) found = text.indexOf(mark, from)
    if (found === -1) found = text.length
    return found
  }
}

/** line: a line of data. */
function* saysSomething(line: string, pace: Pace): Work<boolean> {
  for (let at = 5; at < line.length; at += PIECE) {
    if (at > 5 && pace.isDue(unitsOf(PIECE))) yield
    if (line.slice(at, at + PIECE).trim() !== '') return true
  }
  return false
}

const fieldOf = (line: string): string => FIELD.exec(line)?.[0] ?? ''
/** Longer names are not known. */
const FIELD = /^[^:]{0,16}/

/**
 * Returns what clients get of a line: without line ends that only some clients know (Python's splitlines), and without
 * text that nobody has seen. undefined: not a line of an event.
 */
function* lineToPass(line: string, ids: EventIds, pace: Pace): Work<string | undefined> {
  if (line === '') return line
  switch (fieldOf(line)) {
    case 'data':
      return yield* dataToPass(line, pace)
    case '':
      return isShort(line) && KEEP_ALIVE.test(line) ? line : ':'
    case 'event':
      return isShort(line) && NAME.test(line) ? line : undefined
    case 'id':
      if (ids === 'kept') return isShort(line) && OPAQUE_ID.test(line) ? line : undefined
      return isShort(line) && ID.test(line) ? line : ':'
    case 'retry':
      return isShort(line) && MILLISECONDS.test(line) ? line : undefined
    default:
      return undefined
  }
}

function* dataToPass(line: string, pace: Pace): Work<string | undefined> {
  const pieces: string[] = []
  for (const piece of piecesOf(line)) {
    if (pieces.length > 0 && pace.isDue(unitsOf(piece.length))) yield
    if (NOT_IN_JSON.test(piece)) return undefined
    const escaped = withoutLineEnds(piece, pace)
    pieces.push(typeof escaped === 'string' ? escaped : yield* escaped)
  }
  if (pieces.length > 1 && pace.isDue(unitsOf(line.length))) yield
  return pieces.join('')
}

const isShort = (line: string): boolean => line.length <= PIECE

/** Line ends of some clients, and NUL: JSON has them neither in strings nor between values. */
const NOT_IN_JSON = /[\0\v\f\x1c-\x1e]/
/** Those, and what passes in another form. */
const NOT_SIMPLE = /[\0\v\f\r\x1c-\x1e\x85\u2028\u2029]/
/** An event's name has a letter; digits alone could be the number of a card. */
const NAME = /^event(?:: ?(?:(?=[\w.:/-]*[a-z])[\w.:/-]{1,64})? *)?$/i
/** An id has a letter too, or is a short number, or a time since 1970 (in seconds to nanoseconds) with a counter. */
const ID =
  /^id(?:: ?(?:(?=[\w.:/|~=+-]*[a-z])[\w.:/|~=+-]{1,256}|\d{1,9}|1[5-9]\d{8}(?:\d{3}){0,3}(?:-\d{1,6})?)? *)?$/i
/** At most 256 printable characters: no line end of any client is among them. */
const OPAQUE_ID = /^id(?:: ?[^\p{C}\p{Zl}\p{Zp}]{0,256})?$/u
const MILLISECONDS = /^retry(?:: ?\d{0,9} *)?$/
/** Comments that servers are known to send, with a time or a number. Others lose their text, as clients may show it. */
const KEEP_ALIVE =
  /^: ?(?:ping|pong|keep-?alive|heartbeat|openrouter processing)?[ :-]{0,3}(?:\d{1,9}|1[5-9]\d{8}(?:\d{3})?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)? *$/i
