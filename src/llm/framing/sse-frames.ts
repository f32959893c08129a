// Server-sent events ← bytes, cut anywhere: WHATWG HTML section 9.2, and an error for a line that is no field of it:
// some clients could read it as data. What leaves has no line ends but the standard's, and no text beside the data.

import { err, ok, type Result } from '../../result.js'
import { type EventFrame, type EventFrameReader, withoutLineEnds } from './frame.js'
import { FrameBytes } from './frame-bytes.js'

const LF = 0x0a
const CR = 0x0d

/** maxBytes: of one event with its line ends. */
export function createSseReader(maxBytes: number): EventFrameReader {
  let isFirst = true
  const bytes = new FrameBytes(maxBytes, (raw) => {
    const start = isFirst && raw.startsWith('\ufeff') ? 1 : 0
    isFirst = false
    return frameOf(raw, start)
  })
  const cuts = createCutter()
  return {
    get held() {
      return bytes.held
    },
    push: (chunk) => bytes.cut(chunk, cuts(chunk)),
    end: () => bytes.take(new Uint8Array()),
  }
}

/** Chunk after chunk → where frames end in it: after a blank line. */
function createCutter(): (chunk: Uint8Array) => readonly number[] {
  let isBlank = true
  let last = LF
  // A blank line ends with CR: the next byte says whether LF belongs to it.
  let isOpen = false
  return (chunk) => {
    const cuts: number[] = []
    chunk.forEach((byte, at) => {
      if (isOpen) cuts.push(byte === LF ? at + 1 : at)
      const isSecondHalf = byte === LF && last === CR
      if (byte === LF && isBlank && !isSecondHalf) cuts.push(at + 1)
      isOpen = byte === CR && isBlank
      isBlank = byte === LF || byte === CR
      last = byte
    })
    return cuts
  }
}

const LINE = /([^\r\n]*)(\r\n|\r|\n|$)/gy

/** start: behind a byte order mark. */
function frameOf(raw: string, start: number): Result<EventFrame, string> {
  const data: string[] = []
  let passed = raw.slice(0, start)
  let before = ''
  let lineEnd = ''
  let after = ''
  for (const [, line = '', end = ''] of raw.slice(start).matchAll(LINE)) {
    const passedLine = lineToPass(line)
    if (passedLine === undefined) return err('a line of the stream is not of an event')
    const whole = passedLine + end
    if (fieldOf(line) === 'data') {
      if (data.length === 0) [before, lineEnd] = [passed, end]
      data.push(passedLine.slice(5).replace(/^ /, ''))
    } else if (data.length > 0) after += whole
    passed += whole
  }
  const text = data.join('\n')
  if (text.trim() === '') return ok({ raw: passed })
  const between = `${lineEnd === '' ? '\n' : lineEnd}data: `
  const around = { before: `${before}data: `, after: lineEnd + after, between }
  return ok({ raw: passed, data: text, around })
}

const fieldOf = (line: string): string => /^[^:]*/.exec(line)?.[0] ?? ''

/**
 * What clients get of a line: nothing in it may be a line end for those that know more line ends than the standard
 * (Python's splitlines), nor text that nobody has seen. undefined: no line of an event.
 */
function lineToPass(line: string): string | undefined {
  if (line === '') return line
  switch (fieldOf(line)) {
    case 'data':
      return NOT_IN_JSON.test(line) ? undefined : withoutLineEnds(line)
    case '':
      return KEEP_ALIVE.test(line) ? line : ':'
    case 'event':
    case 'id':
      return NAME.test(line) ? line : undefined
    case 'retry':
      return MILLISECONDS.test(line) ? line : undefined
    default:
      return undefined
  }
}

/** Line ends for some clients, and NUL: JSON has them neither in strings nor between values. */
const NOT_IN_JSON = /[\0\v\f\x1c-\x1e]/
const NAME = /^[a-z]+(?:: ?[\x21-\x7e]{0,256} *)?$/
const MILLISECONDS = /^retry(?:: ?\d{0,16} *)?$/
/** Comments that servers are known to send, with a time or a number; the text of others is left out: clients may show it. */
const KEEP_ALIVE =
  /^: ?(?:ping|pong|keep-?alive|heartbeat|openrouter processing)?[\d:.+tz -]{0,64}$/i
