// The events of an MCP server's stream (WHATWG HTML section 9.2), each with the bytes that it came in: whatever is not
// changed leaves as it came.

/** A blank line: two ends of lines. A CR at the end of what is there may be half of one. */
const END = /(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n|$))/g
const LINE_END = /\r\n|\n|\r/

export interface ServerEvent {
  readonly raw: Buffer
  /** "" where it has none: a comment, or an event that is no message. */
  readonly data: string
}

export interface ServerEventReader {
  /** Bytes of the event that is not complete. */
  readonly held: number
  push(bytes: Uint8Array): readonly ServerEvent[]
  /** What stands behind the last event; undefined: nothing. */
  rest(): ServerEvent | undefined
}

/** Bytes that the reader keeps room for while nothing is held. */
const ROOM = 4096

export function createServerEventReader(): ServerEventReader {
  // Grows by doubling: an event that comes in many pieces is copied twice or so, not once for each piece.
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
  /** Copies: the room is written over. */
  const copyOf = (from: number, to: number): Buffer => Buffer.from(room.subarray(from, to))
  const keepFrom = (from: number): void => {
    const rest = room.subarray(from, held)
    if (from > 0) room = Buffer.concat([rest], Math.max(ROOM, rest.length))
    held = rest.length
  }
  return {
    get held() {
      return held
    },
    push(bytes) {
      append(bytes)
      const text = room.toString('latin1', searched, held)
      const events: ServerEvent[] = []
      let from = 0
      END.lastIndex = 0
      for (let found = END.exec(text); found !== null; found = END.exec(text)) {
        const to = searched + END.lastIndex
        events.push(eventOf(copyOf(from, to)))
        from = to
      }
      keepFrom(from)
      searched = Math.max(0, held - 3)
      return events
    },
    rest: () => (held === 0 ? undefined : eventOf(copyOf(0, held))),
  }
}

function eventOf(raw: Buffer): ServerEvent {
  const lines = textOf(raw).split(LINE_END)
  const type = lines.findLast((line) => fieldOf(line) === 'event')
  const isMessage = type === undefined || ['', 'message'].includes(valueOf(type))
  const data = lines.filter((line) => fieldOf(line) === 'data').map(valueOf)
  return { raw, data: isMessage ? data.join('\n') : '' }
}

/** Without the byte order mark that a stream may begin with. */
const textOf = (raw: Buffer): string => raw.toString('utf8').replace(/^\ufeff/, '')

const fieldOf = (line: string): string => /^[^:]*/.exec(line)?.[0] ?? ''
const valueOf = (line: string): string => line.slice(fieldOf(line).length).replace(/^: ?/, '')

/** The event with other data: its other lines stay. */
export function withEventData({ raw }: ServerEvent, data: string): Buffer {
  const text = textOf(raw)
  const end = LINE_END.exec(text)?.[0] ?? '\n'
  const written = data.split('\n').map((line) => `data: ${line}`)
  const lines: string[] = []
  for (const line of text.split(LINE_END))
    if (fieldOf(line) !== 'data') lines.push(line)
    else lines.push(...written.splice(0))
  return Buffer.from(lines.join(end))
}
