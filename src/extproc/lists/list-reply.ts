// Handles the answer of an MCP server: passes it on, holds it as JSON, or filters it event by event.

import type { CostlyExpressions } from '../../extauthz/cel/costly-expressions.js'
import { errorBody, NO_ID } from '../../extauthz/mcp/mcp-problem.js'
import { ByteCollector } from '../../kit/byte-collector.js'
import type { DecisionLog } from '../../kit/decision-log.js'
import { err, ok, type Result } from '../../kit/result.js'
import { inTurns, nextTurn, Pace } from '../../kit/turns.js'
import { decodeUtf8InTurns, encodeUtf8InTurns, joinInTurns } from '../../kit/utf8.js'
import { sendBody, sendHeaders, sendTrailers } from '../session/guard-messages.js'
import { HELD_FOR_EACH, type HeldBytes, openUntil } from '../session/held-bytes.js'
import { type Reply, withRequestId } from '../session/immediate-response.js'
import type { BodyPart, Headers } from '../session/process-message.js'
import type { ProcessorStream } from '../session/processor.js'
import { createOwnReply, OF_THE_BYTES } from '../session/reply-output.js'
import { sendWithHeaders } from '../session/whole-body.js'
import { filterMessage, type ListCaller } from './filter-list.js'
import { createServerEventReader, readEvent, withEventData } from './sse-events.js'

/** The answer of an MCP server as it is handled. */
export interface ListReply {
  body(part: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
  /** Whether nothing more of it is owed. */
  isDone(): boolean
}

/** An answer that can still be replaced. */
export interface RefusableReply extends ListReply {
  /** Answers 502 in its place. problem: for the log, without any text of the list. */
  refuse(problem: string): void
}

/** A reply of which the caller does not get the rest. */
export interface WithheldReply {
  readonly reason: string
  /** Absent: the status of the reply has been sent already. */
  readonly status?: number
  /** For the log, without any text of the list. */
  readonly problem: string
}

/** What list processors are created with. */
export interface ListsDeps {
  readonly maxBodyBytes: number
  readonly heldBytes: HeldBytes
  /** As in GuardDeps. */
  callerIsKnown?(): void
  readonly costly: CostlyExpressions
  /** Absent: nothing is logged. */
  readonly decisions?: DecisionLog | undefined
  /** What Envoy sent with its own call; for logs. */
  readonly traceparent?: string | undefined
}

/** The exchange that an answer belongs to. */
export interface ListReplyContext {
  /** Headers of the request. */
  readonly asking: Headers
  readonly headers: Headers
  readonly caller: ListCaller
  readonly stream: ProcessorStream
  readonly deps: ListsDeps
  /** Called after the answer has been sent. */
  readonly onWithheld: (withheld: WithheldReply) => void
}

/** Passes an answer on unread. isWhole: it has no body. */
export function createPassing(stream: ProcessorStream, isWhole: boolean): ListReply {
  const { send } = stream
  let isDone = isWhole
  sendHeaders(stream, 'response')
  return {
    body: ({ body, endOfStream }) => {
      isDone = endOfStream
      sendBody(send, 'response', body, endOfStream)
    },
    trailers: () => {
      isDone = true
      sendTrailers(send, 'response')
    },
    isDone: () => isDone,
  }
}

/** JSON-RPC's internal error. */
const INTERNAL = -32_603
const UNREADABLE = 'Bad gateway: the list of the server could not be read'
const DETAILS = 'unreadable_list'
const BAD_GATEWAY = 502
const TOO_LARGE = 'it is larger than may be held'

const unreadableBody = ({ asked }: ListCaller): string =>
  errorBody(INTERNAL, UNREADABLE, asked === 'all' ? NO_ID : (asked[0]?.id ?? NO_ID))

const badGateway = (caller: ListCaller): Reply => ({
  status: BAD_GATEWAY,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: Buffer.from(unreadableBody(caller)),
  details: DETAILS,
})

/** Holds a JSON reply until it is complete, then filters it. */
export function createJsonReply(context: ListReplyContext): RefusableReply {
  const { asking, headers, caller, stream, deps, onWithheld } = context
  const own = createOwnReply(stream)
  const hold = openUntil(stream.signal, deps.heldBytes)
  let state: 'holding' | 'refused' | 'done' = 'holding'
  const bytes = new ByteCollector()
  const end = (next: 'refused' | 'done'): void => {
    state = next
    bytes.drop()
    hold.release()
  }
  const refuse = (problem: string, hasTrailers = false): void => {
    end('refused')
    own.send(withRequestId(badGateway(caller), asking), headers, hasTrailers)
    onWithheld({ reason: DETAILS, status: BAD_GATEWAY, problem })
  }
  const complete = async (hasTrailers: boolean): Promise<void> => {
    const filtered = await filterBytes(bytes.take(), caller)
    if (stream.signal.aborted) return
    if (!filtered.ok) return refuse(filtered.error, hasTrailers)
    const { body, isSame } = filtered.value
    const change = isSame ? {} : { remove: OF_THE_BYTES }
    await sendWithHeaders(stream, 'response', change, body, hasTrailers)
    end('done')
  }
  return {
    refuse,
    body: ({ body, endOfStream }) => {
      own.begin(false)
      if (state !== 'holding') return
      const size = bytes.size + body.length
      if (size > deps.maxBodyBytes || !hold.add(body.length * HELD_FOR_EACH))
        return refuse(TOO_LARGE)
      bytes.add(body)
      return endOfStream ? complete(false) : undefined
    },
    trailers: () => {
      own.begin(true)
      return state === 'holding' ? complete(true) : undefined
    },
    isDone: () => state !== 'holding' && !own.isOwed(),
  }
}

/** The error is a sentence for the log, of no use if nobody waits for the list any more. */
async function filterBytes(
  parts: readonly Buffer[],
  caller: ListCaller,
): Promise<Result<{ readonly body: Buffer; readonly isSame: boolean }, string>> {
  const pace = new Pace()
  const whole = await inTurns(joinInTurns(parts, pace), caller.ending)
  const text = whole && (await inTurns(decodeUtf8InTurns(whole, pace), caller.ending))
  if (whole === undefined || text === undefined) return err(NOT_TEXT)
  const filtered = await filterMessage(text, caller)
  if (!filtered.ok) return filtered
  if (filtered.value === text) return ok({ body: whole, isSame: true })
  const body = await inTurns(encodeUtf8InTurns(filtered.value), caller.ending)
  return body === undefined ? err(NOT_TEXT) : ok({ body, isSame: false })
}

const NOT_TEXT = 'it is not UTF-8'

/**
 * Filters an event stream. The headers leave with the first readable event, unless they leave at once; until then, an
 * unreadable one is answered 502.
 */
export function createEventReply(context: ListReplyContext, leavesAtOnce = false): ListReply {
  const { caller, stream, deps } = context
  const own = createOwnReply(stream)
  const events = createServerEventReader()
  const hold = openUntil(stream.signal, deps.heldBytes)
  const pace = new Pace()
  let state: 'start' | 'open' | 'over' = 'start'
  const open = (): void => {
    if (state === 'start') sendHeaders(stream, 'response', { remove: LENGTHS })
    state = 'open'
  }
  const send = (bytes: Uint8Array, isLast = false, refusal?: string): void => {
    open()
    sendBody(stream.send, 'response', bytes, isLast, refusal)
  }
  const end = (bytes: Uint8Array, hasTrailers: boolean, refusal?: string): void => {
    send(bytes, !hasTrailers, refusal)
    state = 'over'
    hold.release()
    if (hasTrailers) sendTrailers(stream.send, 'response')
  }
  const fail = (problem: string, hasTrailers = false): void => {
    hold.release()
    const wasOpen = state === 'open'
    if (wasOpen) end(Buffer.from(`data: ${unreadableBody(caller)}\n\n`), hasTrailers, DETAILS)
    else own.send(withRequestId(badGateway(caller), context.asking), context.headers, hasTrailers)
    state = 'over'
    context.onWithheld({ ...(wasOpen ? {} : { status: BAD_GATEWAY }), reason: DETAILS, problem })
  }
  const take = async (part: BodyPart): Promise<void> => {
    const toSend = (bytes: Uint8Array): void => send(bytes)
    const areRead = await filterEvents(events.push(part.body), caller, pace, toSend)
    if (stream.signal.aborted) return
    if (!areRead) return fail(UNREADABLE_EVENT)
    if (events.held() > deps.maxBodyBytes || !hold.become(events.held() * HELD_FOR_EACH))
      return fail(TOO_LARGE)
    if (part.endOfStream) await finish(false)
  }
  /** Filters what remains at the end of the stream: some clients read an event that is cut off there. */
  const finish = async (hasTrailers: boolean): Promise<void> => {
    const last = events.rest()
    const filtered = last === undefined ? NO_EVENT : await filterEvent(last, caller, pace)
    if (stream.signal.aborted) return
    if (filtered === undefined) return fail(UNREADABLE_EVENT, hasTrailers)
    end(filtered.bytes, hasTrailers)
  }
  if (leavesAtOnce) open()
  return {
    body: (part) => {
      own.begin(false)
      return state === 'over' ? undefined : take(part)
    },
    trailers: () => {
      own.begin(true)
      return state === 'over' ? undefined : finish(true)
    },
    isDone: () => state === 'over' && !own.isOwed(),
  }
}

const UNREADABLE_EVENT = 'an event cannot be read'

/** Sends the filtered events in order. Resolves to false if one cannot be read, or nobody waits any more. */
async function filterEvents(
  events: Iterable<Buffer>,
  caller: ListCaller,
  pace: Pace,
  send: (bytes: Uint8Array) => void,
): Promise<boolean> {
  // A stream may have millions of comments and blank lines; they leave together.
  let silent: Buffer[] = []
  const sendSilent = (): void => {
    if (silent.length > 0) send(Buffer.concat(silent))
    silent = []
  }
  for (const raw of events) {
    if (pace.isDue(EVENT_UNITS)) await nextTurn()
    const filtered = await filterEvent(raw, caller, pace)
    if (caller.ending.aborted) return false
    if (filtered?.isSilent === true) {
      silent.push(raw)
      continue
    }
    sendSilent()
    if (filtered === undefined) return false
    send(filtered.bytes)
  }
  sendSilent()
  return true
}

interface FilteredEvent {
  readonly bytes: Uint8Array
  /** Whether it has no data. */
  readonly isSilent: boolean
}

/** undefined: the event cannot be read, or nobody waits for it any more. */
async function filterEvent(
  raw: Buffer,
  caller: ListCaller,
  pace: Pace,
): Promise<FilteredEvent | undefined> {
  const event = await inTurns(readEvent(raw, pace), caller.ending)
  if (event === undefined) return undefined
  const { data: text, isMessage } = event
  if (text === undefined || text.trim() === '') return { bytes: raw, isSilent: true }
  // No client finds a list in an event that is neither called a message nor JSON, such as an address or a time.
  if (!isMessage && !BEGINS_JSON.test(text)) return { bytes: raw, isSilent: false }
  const data = await filterMessage(text, caller)
  if (!data.ok) return undefined
  if (data.value === text) return { bytes: raw, isSilent: false }
  const bytes = await inTurns(withEventData(event, data.value, pace), caller.ending)
  return bytes && { bytes, isSilent: false }
}

const BEGINS_JSON = /^\s*[{[]/
const NO_EVENT: FilteredEvent = { bytes: new Uint8Array(), isSilent: true }
/** An event, and the message that it is sent in, cost as much as reading this many JSON values. */
const EVENT_UNITS = 16
/** Headers to remove from a reply whose length is unknown when its headers are sent. */
const LENGTHS = ['content-length', ...OF_THE_BYTES]
