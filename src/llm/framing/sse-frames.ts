// Server-sent events ← bytes, cut anywhere: WHATWG HTML section 9.2, and an error for a line that is no field of it:
// some clients could read it as data.

import { err, ok, type Result } from '../../result.js'
import { FrameBytes } from './frame-bytes.js'
import type { Frame, FrameReader } from './frame.js'

const LF = 0x0a
const CR = 0x0d

/** maxBytes: of one event with its line ends. */
export function createSseReader(maxBytes: number): FrameReader {
  let isFirst = true
  const bytes = new FrameBytes(maxBytes, (raw) => {
    const start = isFirst && raw.startsWith('\ufeff') ? 1 : 0
    isFirst = false
    return frameOf(raw, start)
  })
  const cuts = createCutter()
  return {
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
function frameOf(raw: string, start: number): Result<Frame, string> {
  const data: string[] = []
  let before = raw.slice(0, start)
  let lineEnd = ''
  let after = ''
  for (const [whole, line = '', end = ''] of raw.slice(start).matchAll(LINE)) {
    const field = /^[^:]*/.exec(line)?.[0] ?? ''
    if (line !== '' && !FIELDS.has(field)) return err('a line of the stream is not of an event')
    if (field === 'data') {
      if (data.length === 0) lineEnd = end
      data.push(line.slice(5).replace(/^ /, ''))
    } else if (data.length === 0) before += whole
    else after += whole
  }
  const text = data.join('\n')
  if (text.trim() === '') return ok({ raw })
  const between = `${lineEnd === '' ? '\n' : lineEnd}data: `
  const around = { before: `${before}data: `, after: lineEnd + after, between }
  return ok({ raw, data: text, around })
}

/** A comment has no name. */
const FIELDS: ReadonlySet<string> = new Set(['data', 'event', 'id', 'retry', ''])
