// A client of server-sent events that takes for a line whatever Python's str.splitlines() does, as httpx and what is built on it do.

/** "\r\n" and every single character at which str.splitlines() splits. */
const LINE_ENDS = /\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/

export interface ReadEvent {
  readonly data: string
  readonly event: string
  readonly id: string
}

/** The events of a stream; one without a blank line at its end counts, as it does for many clients. */
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
