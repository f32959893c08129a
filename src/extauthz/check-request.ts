// Reads what a check needs from the bytes of an envoy.service.auth.v3.CheckRequest, by hand: first the route key, whose
// entry tells which headers to read. A test compares it with the generated decoder.

import { REQUEST_ID, returnedId } from '../kit/request-id.js'
import { HEAD_CONTEXT_KEY, ROUTE_CONTEXT_KEY } from '../model/names.js'
import { TextMemo } from '../wire/grpc/text-memo.js'
import { type Range, WireReader } from '../wire/grpc/wire-reader.js'
import { HeaderNames } from './header-names.js'

/** A message that is opened, but not read. */
export interface CheckEnvelope {
  /** context_extensions[ROUTE_CONTEXT_KEY]; undefined: the filter is not Gatehouse's, or misconfigured. */
  readonly key: string | undefined
  /** Whether the headers alone are to be checked; the body is checked later. */
  readonly isHead: boolean
  readonly reader: WireReader
  /** Ranges of AttributeContext.Request and AttributeContext.Peer; several are merged, as protobuf requires. */
  readonly requests: readonly Range[]
  readonly sources: readonly Range[]
}

/** The fields of a request that a decision may need. */
export interface CheckRequest {
  readonly method: string
  /** Includes the query. */
  readonly path: string
  readonly host: string
  readonly scheme: string
  /** "HTTP/1.1", "HTTP/2". */
  readonly protocol: string
  /** Requested headers, by lower-case name. */
  readonly headers: ReadonlyMap<string, string | readonly string[]>
  /** The whole body (raw_body: Gatehouse's listeners set pack_as_bytes); undefined: none was sent. */
  readonly body?: Uint8Array
}

type Headers = Map<string, string | string[]>

/** The client that sent a request, as Envoy determined it. */
export interface CheckSource {
  readonly address: string
  readonly port: number
}

/** Finds the parts that a check needs and skips all other fields. @throws RangeError when the message is malformed. */
export function openCheckRequest(bytes: Buffer): CheckEnvelope {
  const reader = new WireReader(bytes)
  const requests: Range[] = []
  const sources: Range[] = []
  const extensions: Extensions = { key: undefined, isHead: false }
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== 1) {
      reader.skip()
      continue
    }
    const outer = reader.enter()
    for (let part = reader.next(); part !== 0; part = reader.next()) {
      if (part === 1) sources.push(reader.takeRange())
      else if (part === 4) requests.push(reader.takeRange())
      else if (part === 10) readExtension(reader, extensions)
      else reader.skip()
    }
    reader.leave(outer)
  }
  return { ...extensions, reader, requests, sources }
}

/** Known keys, methods, hosts and the like, of which a configuration and its clients have only a few. */
const memo = new TextMemo()

function knownText(reader: WireReader): string {
  reader.span()
  return memo.read(reader.buffer, reader.from, reader.to)
}

interface Extensions {
  key: string | undefined
  isHead: boolean
}

/** Reads an entry of context_extensions. */
function readExtension(reader: WireReader, extensions: Extensions): void {
  let name = ''
  let value = ''
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) name = knownText(reader)
    else if (field === 2) value = knownText(reader)
    else reader.skip()
  }
  reader.leave(outer)
  if (name === ROUTE_CONTEXT_KEY) extensions.key = value
  else if (name === HEAD_CONTEXT_KEY) extensions.isHead = true
}

interface Draft {
  method: string
  path: string
  host: string
  scheme: string
  protocol: string
  readonly headers: Headers
  body?: Uint8Array
}

/** @throws RangeError when the message is malformed. */
export function readCheckRequest(envelope: CheckEnvelope, names: HeaderNames): CheckRequest {
  const { reader } = envelope
  const draft: Draft = {
    method: '',
    path: '',
    host: '',
    scheme: '',
    protocol: '',
    headers: new Map(),
  }
  for (const range of envelope.requests) {
    reader.open(range)
    for (let field = reader.next(); field !== 0; field = reader.next())
      if (field === 2) readHttpRequest(reader, names, draft)
      else reader.skip()
  }
  return draft
}

/** Reads an AttributeContext.HttpRequest. */
function readHttpRequest(reader: WireReader, names: HeaderNames, draft: Draft): void {
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 2) draft.method = knownText(reader)
    else if (field === 3) readMapEntry(reader, names, draft.headers)
    else if (field === 4) draft.path = reader.text()
    else if (field === 5) draft.host = knownText(reader)
    else if (field === 6) draft.scheme = knownText(reader)
    else if (field === 10) draft.protocol = knownText(reader)
    else if (field === 12) draft.body = readBytes(reader)
    else if (field === 13) readHeaderMap(reader, names, draft.headers)
    else reader.skip()
  }
  reader.leave(outer)
}

/** Returns a view of the message, not a copy. */
function readBytes(reader: WireReader): Uint8Array {
  const { start, end } = reader.takeRange()
  return reader.buffer.subarray(start, end)
}

/** Reads header_map: every header as it was sent (encode_raw_headers). */
function readHeaderMap(reader: WireReader, names: HeaderNames, headers: Headers): void {
  const outer = reader.enter()
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 1) readHeader(reader, names, headers)
    else reader.skip()
  reader.leave(outer)
}

/** Reads an entry of the map headers: key 1 and value 2, in which Envoy joins several values. It has no third field. */
function readMapEntry(reader: WireReader, names: HeaderNames, headers: Headers): void {
  const outer = reader.enter()
  const { buffer } = reader
  let name: string | undefined
  let start = 0
  let end = 0
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field > 2) {
      reader.skip()
      continue
    }
    reader.span()
    if (field === 1) name = names.match(buffer, reader.from, reader.to)
    else {
      start = reader.from
      end = reader.to
    }
  }
  reader.leave(outer)
  if (name !== undefined) addHeader(headers, name, buffer.toString('utf8', start, end))
}

/** Reads a HeaderValue: key 1, value 2, raw_value 3, which replaces value unless it is empty. */
function readHeader(reader: WireReader, names: HeaderNames, headers: Headers): void {
  const outer = reader.enter()
  const { buffer } = reader
  let name: string | undefined
  let start = 0
  let end = 0
  let rawStart = 0
  let rawEnd = 0
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field > 3) {
      reader.skip()
      continue
    }
    reader.span()
    if (field === 1) name = names.match(buffer, reader.from, reader.to)
    else if (field === 2) {
      start = reader.from
      end = reader.to
    } else {
      rawStart = reader.from
      rawEnd = reader.to
    }
  }
  reader.leave(outer)
  if (name === undefined) return
  const hasRaw = rawEnd > rawStart
  const text = buffer.toString('utf8', hasRaw ? rawStart : start, hasRaw ? rawEnd : end)
  addHeader(headers, name, text)
}

/** Keeps all values of a repeated header; the caller decides whether it may be repeated. */
function addHeader(headers: Headers, name: string, value: string): void {
  const before = headers.get(name)
  if (typeof before === 'object') before.push(value)
  else headers.set(name, before === undefined ? value : [before, value])
}

/** Reads Peer.address.socket_address. undefined: the client used a Unix socket, or Envoy sent no address. */
export function readSource({ reader, sources }: CheckEnvelope): CheckSource | undefined {
  const draft = { address: '', port: 0 }
  for (const range of sources) {
    reader.open(range)
    readNested(reader, [1, 1], () => readSocketAddress(reader, draft))
  }
  return draft.address === '' ? undefined : draft
}

/** Calls read inside the message at this path of field numbers. */
function readNested(reader: WireReader, path: readonly number[], read: () => void): void {
  const [wanted, ...deeper] = path
  if (wanted === undefined) {
    read()
    return
  }
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field !== wanted) {
      reader.skip()
      continue
    }
    const outer = reader.enter()
    readNested(reader, deeper, read)
    reader.leave(outer)
  }
}

function readSocketAddress(reader: WireReader, draft: { address: string; port: number }): void {
  for (let field = reader.next(); field !== 0; field = reader.next())
    if (field === 2) draft.address = reader.text()
    else if (field === 3) draft.port = reader.number()
    else reader.skip()
}

const ID_ALONE = new HeaderNames([REQUEST_ID])

/** Returns the id of the request in an encoded CheckRequest; undefined: it has none, or is malformed. */
export function requestIdIn(bytes: Buffer): string | undefined {
  try {
    return returnedId(readCheckRequest(openCheckRequest(bytes), ID_ALONE).headers.get(REQUEST_ID))
  } catch {
    return undefined
  }
}
