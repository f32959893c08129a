// A server-sent events client that splits lines like Python's str.splitlines(), as httpx and clients built on it do.

/** "\r\n" and every single character at which str.splitlines() splits. */
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/

export interface ReadEvent {
  readonly data: string
  readonly event: string
  readonly id: string
}

/** Returns the events of a stream, including a last one without a blank line after it, as many clients do. */
export function readBySplitlines(stream: string): readonly ReadEvent[] {
  const events: ReadEvent[] = []
  let [data, event, id]: [string[], string, string] = [[], '', '']
  const dispatch = (): void => {
    if (data.length > 0 || event !== '') events.push({ data: data.join('\n'), event, id })
    ;[data, event] = [[], '']
  }
  for (const line of stream.replace(/^\ufeff/, '').split(LINE_ENDS)) {
    if (line === '') dispatch()
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/su.exec(line) ?? []
    if (name === 'data') data.push(value)
    if (name === 'event') event = value
    if (name === 'id') id = value
  }
  dispatch()
  return events
}
