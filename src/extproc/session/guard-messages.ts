// Encodes parts of a guarded request or reply as Envoy's messages in full duplex (envoy.service.ext_proc.v3
// ProcessingResponse): the headers once they may go on, then the body in pieces. Written by hand, because a streamed
// reply has a message for every token. A test compares it with the generated decoder.

import type { Phase } from '../../model/proc-entry.js'
import { BackwardWriter } from '../../wire/grpc/backward-writer.js'
import type { ProcessorStream } from './processor.js'
import { writeReason } from './refusal-metadata.js'

/** Changes of the headers of a request or reply. */
export interface HeaderChange {
  /** Lower-case names; :status too. Each character of a value is a byte. */
  readonly set?: Readonly<Record<string, string>>
  readonly remove?: readonly string[]
  /** Whether Envoy is to choose the route again. */
  readonly choosesRoute?: boolean
  /** Why Gatehouse answers in place of the server, for access logs; absent: it does not. */
  readonly refusal?: string
}

/** What headers are sent on. */
export type HeadersStream = Pick<ProcessorStream, 'send' | 'replyHeaders'>

/** Sends a message, whose bytes are valid only until the next one is written. */
export type Send = (message: Uint8Array) => void

/** Maximum bytes of body in one message that Envoy takes. */
export const PIECE_BYTES = 64 * 1024
/** Maximum bytes of a UTF-16 unit in UTF-8. */
const MAX_CHARACTER_BYTES = 3
/** HeaderValueOption.append_action. */
const OVERWRITE_IF_EXISTS_OR_ADD = 2

/** Fields of the oneof "response". */
const HEADERS = { request: 1, response: 2 } as const
const BODY = { request: 3, response: 4 } as const
const TRAILERS = { request: 5, response: 6 } as const

/** Shared, because messages are written one at a time. */
const writer = new BackwardWriter()

/** Sends the answer to the headers of a phase. */
export function sendHeaders(
  { send, replyHeaders }: HeadersStream,
  phase: Phase,
  own: HeaderChange = {},
): void {
  const added = phase === 'response' ? replyHeaders?.() : undefined
  const change = added === undefined ? own : { ...own, set: { ...own.set, ...added } }
  writer.begin()
  if (change.refusal !== undefined) writeReason(change.refusal, writer)
  const response = writer.mark()
  if (change.choosesRoute === true) writer.number(5, 1)
  const mutation = writer.mark()
  writeMutation(change)
  // HeadersResponse: response 1 (CommonResponse: header_mutation 2, clear_route_cache 5).
  writer.end(2, mutation)
  writer.end(1, response)
  writer.end(HEADERS[phase], response)
  send(writer.view())
}

/** HeaderMutation: set_headers 1, remove_headers 2. */
export function writeMutation({ set = {}, remove = [] }: HeaderChange, to = writer): void {
  for (let at = remove.length - 1; at >= 0; at--) to.text(2, remove[at] ?? '')
  const names = Object.keys(set)
  for (let at = names.length - 1; at >= 0; at--) {
    const name = names[at] ?? ''
    const option = to.mark()
    to.number(3, OVERWRITE_IF_EXISTS_OR_ADD)
    const header = to.mark()
    // Envoy reads only raw_value here; without an action it would append to existing values.
    to.latin1(3, set[name] ?? '')
    to.text(1, name)
    to.end(1, header)
    to.end(1, option)
  }
}

/**
 * Sends at least one message. isLast: the body ends here, and no trailers follow. refusal: why the body ends early, for
 * access logs.
 */
export function sendBody(
  send: Send,
  phase: Phase,
  body: Uint8Array,
  isLast: boolean,
  refusal?: string,
): void {
  for (let from = 0; from === 0 || from < body.length; from += PIECE_BYTES) {
    const to = from + PIECE_BYTES
    const start = beginBody(isLast && to >= body.length, refusal)
    if (body.length > 0) writer.bytes(1, body.subarray(from, to))
    endBody(send, phase, start)
  }
}

/** Sends a body given as text; otherwise like sendBody(). */
export function sendText(
  send: Send,
  phase: Phase,
  text: string,
  isLast: boolean,
  refusal?: string,
): void {
  if (text.length * MAX_CHARACTER_BYTES > PIECE_BYTES)
    return sendBody(send, phase, Buffer.from(text), isLast, refusal)
  const start = beginBody(isLast, refusal)
  if (text !== '') writer.text(1, text)
  endBody(send, phase, start)
}

/**
 * BodyResponse: response 1 (CommonResponse: body_mutation 3 (streamed_response 3 (body 1, end_of_stream 2))). Returns
 * where it begins.
 */
function beginBody(endOfStream: boolean, refusal: string | undefined): number {
  writer.begin()
  if (refusal !== undefined) writeReason(refusal, writer)
  const start = writer.mark()
  if (endOfStream) writer.number(2, 1)
  return start
}

function endBody(send: Send, phase: Phase, start: number): void {
  writer.end(3, start)
  writer.end(3, start)
  writer.end(1, start)
  writer.end(BODY[phase], start)
  send(writer.view())
}

/** Sends the answer to the trailers of a phase. */
export function sendTrailers(send: Send, phase: Phase): void {
  writer.begin()
  writer.end(TRAILERS[phase], 0)
  send(writer.view())
}
