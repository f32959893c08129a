// Decodes the needed parts of an envoy.service.ext_proc.v3.ProcessingRequest. Written by hand, because a streamed reply
// has a message for every token: unused parts create no objects. A test compares it with the generated decoder.

import { type Range, WireReader } from '../../wire/grpc/wire-reader.js'

/** Values by lower-case name; each byte of a value is one character. */
export type Headers = ReadonlyMap<string, readonly string[]>

/** The parts of a request and its reply. */
export type PartName =
  | 'requestHeaders'
  | 'responseHeaders'
  | 'requestBody'
  | 'responseBody'
  | 'requestTrailers'
  | 'responseTrailers'

/** The oneof "request", by field number. */
const PARTS: Readonly<Record<number, PartName>> = {
  2: 'requestHeaders',
  3: 'responseHeaders',
  4: 'requestBody',
  5: 'responseBody',
  6: 'requestTrailers',
  7: 'responseTrailers',
}

/** ProtocolConfiguration: numbers of ProcessingMode.BodySendMode. */
export interface BodyModes {
  readonly requestBodyMode: number
  readonly responseBodyMode: number
}

/** The headers of a phase. */
export interface HeadersPart {
  readonly headers: Headers
  /** Whether there is no body. */
  readonly endOfStream: boolean
}

/** A piece of a body. */
export interface BodyPart {
  /** A view into the memory of the whole message: copy what must stay. */
  readonly body: Buffer
  readonly endOfStream: boolean
}

/** A decoded message of Envoy. */
export interface ProcessMessage extends HeadersPart, BodyPart {
  /** undefined: the message has none of these parts. */
  readonly part: PartName | undefined
  readonly config: BodyModes | undefined
  /** An encoded envoy.config.core.v3.Metadata; undefined: none. */
  readonly metadata: Buffer | undefined
}

interface Draft {
  part: PartName | undefined
  headers: Headers
  body: Buffer
  endOfStream: boolean
  config: BodyModes | undefined
  metadata: Buffer | undefined
}

const NO_HEADERS: Headers = new Map()
const NO_BYTES = Buffer.alloc(0)

/** @throws RangeError when the bytes are not a message, or contain two parts. */
export function readProcessMessage(bytes: Buffer): ProcessMessage {
  const draft: Draft = {
    part: undefined,
    headers: NO_HEADERS,
    body: NO_BYTES,
    endOfStream: false,
    config: undefined,
    metadata: undefined,
  }
  const reader = new WireReader(bytes)
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    const part = PARTS[field]
    if (part !== undefined) readPart(reader, part, draft)
    else if (field === 8) draft.metadata = joined(draft.metadata, view(reader))
    else if (field === 11) draft.config = readConfig(reader, draft.config)
    else reader.skip()
  }
  return draft
}

function readPart(reader: WireReader, part: PartName, draft: Draft): void {
  if (draft.part !== undefined) throw new RangeError('two parts in one message')
  draft.part = part
  const outer = reader.enter()
  if (part === 'requestHeaders' || part === 'responseHeaders') readHeaders(reader, draft)
  else if (part === 'requestBody' || part === 'responseBody') readBody(reader, draft)
  // Nothing in trailers is used.
  else for (let field = reader.next(); field !== 0; field = reader.next()) reader.skip()
  reader.leave(outer)
}

/** HttpHeaders: headers 1 (HeaderMap: headers 1), end_of_stream 3. */
function readHeaders(reader: WireReader, draft: Draft): void {
  const headers = new Map<string, string[]>()
  draft.headers = headers
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) {
      const outer = reader.enter()
      for (let inner = reader.next(); inner !== 0; inner = reader.next())
        if (inner === 1) readHeader(reader, headers)
        else reader.skip()
      reader.leave(outer)
    } else if (field === 3) draft.endOfStream = reader.number() !== 0
    else reader.skip()
}

/** HeaderValue: key 1, value 2, raw_value 3. Envoy fills raw_value, older versions value. */
function readHeader(reader: WireReader, headers: Map<string, string[]>): void {
  let name = ''
  let value = ''
  let raw: Range | undefined
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) name = reader.text()
    else if (field === 2) value = reader.text()
    else if (field === 3) raw = reader.takeRange()
    else reader.skip()
  reader.leave(outer)
  if (raw !== undefined && raw.end > raw.start)
    value = reader.buffer.toString('latin1', raw.start, raw.end)
  const lower = name.toLowerCase()
  const values = headers.get(lower)
  if (values === undefined) headers.set(lower, [value])
  else values.push(value)
}

/** HttpBody: body 1, end_of_stream 2. */
function readBody(reader: WireReader, draft: Draft): void {
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) draft.body = view(reader)
    else if (field === 2) draft.endOfStream = reader.number() !== 0
    else reader.skip()
}

function view(reader: WireReader): Buffer {
  const { start, end } = reader.takeRange()
  return reader.buffer.subarray(start, end)
}

/** Joins a message field that occurs twice, which protobuf defines as one message. */
const joined = (before: Buffer | undefined, bytes: Buffer): Buffer =>
  before === undefined ? bytes : Buffer.concat([before, bytes])

/** ProtocolConfiguration: request_body_mode 1, response_body_mode 2. */
function readConfig(reader: WireReader, before: BodyModes | undefined): BodyModes {
  let { requestBodyMode, responseBodyMode } = before ?? { requestBodyMode: 0, responseBodyMode: 0 }
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) requestBodyMode = reader.number()
    else if (field === 2) responseBodyMode = reader.number()
    else reader.skip()
  reader.leave(outer)
  return { requestBodyMode, responseBodyMode }
}
