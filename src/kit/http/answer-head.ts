// Reads the head of an HTTP/1.1 answer: the status line and the fields that say how its body is sent (RFC 9112).

/** What the head of an answer says. */
export interface AnswerHead {
  readonly status: number
  /** Content-Encoding, in lower case; '': none. */
  readonly encoding: string
  readonly isChunked: boolean
  /** Content-Length; undefined: none. */
  readonly length: number | undefined
  readonly keepsAlive: boolean
  /** Keep-Alive: timeout, in milliseconds; undefined: none. */
  readonly keepAliveMs: number | undefined
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const FIELD = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/
const LENGTH = /^\d{1,15}$/

/** Fields that are read; all others only have to be well-formed. */
const READ: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'content-encoding',
  'connection',
  'keep-alive',
])

/** text: without the empty line at its end. undefined: it is malformed or ambiguous. */
export function readHead(text: string): AnswerHead | undefined {
  const [first = '', ...lines] = text.split('\r\n')
  const start = STATUS_LINE.exec(first)
  const fields = fieldsOf(lines)
  if (start === null || fields === undefined) return undefined
  const coding = fields.get('transfer-encoding')
  const isOld = start[1] === '0'
  const length = fields.has('content-length') ? lengthOf(fields.get('content-length')) : undefined
  // Two lengths, or a length beside chunks, can be read in two ways (RFC 9112 section 6.3).
  if (Number.isNaN(length) || (coding !== undefined && (length !== undefined || isOld)))
    return undefined
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return undefined
  const connection = words(fields.get('connection'))
  return {
    status: Number(start[2]),
    encoding: (fields.get('content-encoding') ?? '').toLowerCase(),
    isChunked: coding !== undefined,
    length,
    keepsAlive: !connection.includes('close') && (!isOld || connection.includes('keep-alive')),
    keepAliveMs: keepAliveOf(fields.get('keep-alive')),
  }
}

/** Reads the heads of one connection. Most are the same as the one before, down to the second of their Date. */
export class AnswerHeads {
  #text = ''
  #head: AnswerHead | undefined

  /** Like readHead(). */
  read(text: string): AnswerHead | undefined {
    if (text === this.#text) return this.#head
    this.#head = readHead(text)
    this.#text = text
    return this.#head
  }
}

/** Whether answers of this status have no body (RFC 9110 sections 15.3.5 and 15.4.5). */
export const isBodiless = (status: number): boolean => status === 204 || status === 304

/** Whether a line of a head, or of the trailers, is a field. */
export const isField = (line: string): boolean => FIELD.test(line)

/** Returns the fields of READ, those of one name joined; undefined: a line is no field. */
function fieldsOf(lines: readonly string[]): ReadonlyMap<string, string> | undefined {
  const fields = new Map<string, string>()
  for (const line of lines) {
    const field = FIELD.exec(line)
    if (field === null) return undefined
    const name = (field[1] ?? '').toLowerCase()
    if (!READ.has(name)) continue
    const value = withoutBlanks(field[2] ?? '')
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return fields
}

/** Removes optional white space alone (RFC 9110 section 5.6.3); trim() would remove other characters too. */
function withoutBlanks(value: string): string {
  let [from, to] = [0, value.length]
  while (from < to && isBlank(value, from)) from += 1
  while (to > from && isBlank(value, to - 1)) to -= 1
  return value.slice(from, to)
}

const isBlank = (value: string, at: number): boolean => value[at] === ' ' || value[at] === '\t'

/** NaN: it is no length, or there are two. */
function lengthOf(value = ''): number {
  return LENGTH.test(value) ? Number(value) : NaN
}

const words = (value = ''): readonly string[] =>
  value === ''
    ? []
    : value
        .toLowerCase()
        .split(',')
        .map((word) => word.trim())

function keepAliveOf(value: string | undefined): number | undefined {
  const seconds = value === undefined ? undefined : /timeout=(\d{1,9})/i.exec(value)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}
