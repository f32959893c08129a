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

export function createServerEventReader(): ServerEventReader {
  let pending = Buffer.alloc(0)
  let searched = 0
  return {
    get held() {
      return pending.length
    },
    push(bytes) {
      pending = Buffer.concat([pending, bytes])
      const text = pending.toString('latin1')
      const events: ServerEvent[] = []
      let from = 0
      END.lastIndex = searched
      for (let found = END.exec(text); found !== null; found = END.exec(text)) {
        events.push(eventOf(pending.subarray(from, END.lastIndex)))
        from = END.lastIndex
      }
      pending = Buffer.from(pending.subarray(from))
      searched = Math.max(0, pending.length - 3)
      return events
    },
    rest: () => (pending.length === 0 ? undefined : eventOf(pending)),
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
