// Handles the answer of an MCP server: passes it on, holds it as JSON, or filters it event by event.

import { ByteCollector } from '../../byte-collector.js'
import type { BudgetLimits } from '../../cel/budget.js'
import { errorBody, NO_ID } from '../../mcp/mcp-problem.js'
import { inTurns, nextTurn, Pace } from '../../turns.js'
import { decodeUtf8InTurns, encodeUtf8InTurns, joinInTurns } from '../../utf8.js'
import { sendBody, sendHeaders, sendTrailers } from '../stream/guard-messages.js'
import type { HeldBytes } from '../stream/held-bytes.js'
import type { Reply } from '../stream/immediate-response.js'
import type { BodyPart, Headers } from '../stream/process-message.js'
import type { ProcessorStream } from '../stream/processor.js'
import { createOwnReply, OF_THE_BYTES, sendReply } from '../stream/reply-output.js'
import { filterMessage, type ListCaller } from './filter-list.js'
import { createServerEventReader, readEvent, withEventData } from './sse-events.js'

export interface ListReply {
  body(part: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
  /** Whether nothing more of it is owed. */
  isDone(): boolean
}

interface RefusableReply extends ListReply {
  /** Answers 502 in its place. */
  refuse(): void
}

export interface ListsDeps {
  readonly maxBodyBytes: number
  readonly heldBytes: HeldBytes
  readonly budget: BudgetLimits
}

export interface ListReplyContext {
  readonly headers: Headers
  readonly caller: ListCaller
  readonly stream: ProcessorStream
  readonly deps: ListsDeps
}

export function createPassing({ send }: ProcessorStream, isWhole: boolean): ListReply {
  let isDone = isWhole
  sendHeaders(send, 'response')
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

const errorText = ({ asked }: ListCaller): string =>
  errorBody(INTERNAL, UNREADABLE, asked === 'all' ? NO_ID : (asked[0]?.id ?? NO_ID))

const badGateway = (caller: ListCaller): Reply => ({
  status: 502,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  body: Buffer.from(errorText(caller)),
  details: DETAILS,
})

/** Holds a JSON reply until it is complete, then filters it. */
export function createJsonReply({
  headers,
  caller,
  stream,
  deps,
}: ListReplyContext): RefusableReply {
  const own = createOwnReply(stream)
  const hold = deps.heldBytes.open()
  stream.signal.addEventListener('abort', () => hold.release())
  let state: 'holding' | 'refused' | 'done' = 'holding'
  const bytes = new ByteCollector()
  const end = (next: 'refused' | 'done'): void => {
    state = next
    bytes.drop()
    hold.release()
  }
  const refuse = (hasTrailers = false): void => {
    end('refused')
    own.send(badGateway(caller), headers, hasTrailers)
  }
  const complete = async (hasTrailers: boolean): Promise<void> => {
    const filtered = await filterBytes(bytes.take(), caller)
    if (stream.signal.aborted) return
    if (filtered === undefined) return refuse(hasTrailers)
    end('done')
    const { body, isSame } = filtered
    sendReply(stream, isSame ? {} : { remove: OF_THE_BYTES }, body, hasTrailers)
  }
  return {
    refuse,
    body: ({ body, endOfStream }) => {
      own.begin(false)
      if (state !== 'holding') return
      const size = bytes.size + body.length
      if (size > deps.maxBodyBytes || !hold.add(body.length * HELD_FOR_EACH)) return refuse()
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

/** Copies held of each byte: the byte itself, its text, and the result. */
const HELD_FOR_EACH = 3

/** undefined: the bytes cannot be read, or nobody waits for them any more. */
async function filterBytes(
  parts: readonly Buffer[],
  caller: ListCaller,
): Promise<{ readonly body: Buffer; readonly isSame: boolean } | undefined> {
  const pace = new Pace()
  const whole = await inTurns(joinInTurns(parts, pace), caller.ending)
  const text = whole && (await inTurns(decodeUtf8InTurns(whole, pace), caller.ending))
  if (whole === undefined || text === undefined) return undefined
  const filtered = await filterMessage(text, caller)
  if (!filtered.ok) return undefined
  if (filtered.value === text) return { body: whole, isSame: true }
  const body = await inTurns(encodeUtf8InTurns(filtered.value), caller.ending)
  return body && { body, isSame: false }
}

/**
 * Filters an event stream. The headers leave with the first readable event; until then, an unreadable one is answered
 * 502.
 */
export function createEventReply({ headers, caller, stream, deps }: ListReplyContext): ListReply {
  const own = createOwnReply(stream)
  const events = createServerEventReader()
  const hold = deps.heldBytes.open()
  stream.signal.addEventListener('abort', () => hold.release())
  const pace = new Pace()
  let state: 'start' | 'open' | 'over' = 'start'
  const open = (): void => {
    if (state === 'start') sendHeaders(stream.send, 'response', { remove: LENGTHS })
    state = 'open'
  }
  const send = (bytes: Uint8Array, isLast: boolean): void => {
    open()
    if (isLast) state = 'over'
    sendBody(stream.send, 'response', bytes, isLast)
  }
  const fail = (hasTrailers: boolean): void => {
    hold.release()
    if (state === 'open') return send(Buffer.from(`data: ${errorText(caller)}\n\n`), true)
    state = 'over'
    own.send(badGateway(caller), headers, hasTrailers)
  }
  const take = async (part: BodyPart): Promise<void> => {
    const toSend = (bytes: Uint8Array): void => send(bytes, false)
    const areRead = await filterEvents(events.push(part.body), caller, pace, toSend)
    if (stream.signal.aborted) return
    if (!areRead) return fail(false)
    if (events.held() > deps.maxBodyBytes || !hold.become(events.held() * HELD_FOR_EACH))
      return fail(false)
    if (part.endOfStream) await finish(false)
  }
  /** Filters what remains at the end of the stream: some clients read an event that is cut off there. */
  const finish = async (hasTrailers: boolean): Promise<void> => {
    const last = events.rest()
    const filtered = last === undefined ? NO_EVENT : await filterEvent(last, caller, pace)
    if (stream.signal.aborted) return
    if (filtered === undefined) return fail(hasTrailers)
    send(filtered.bytes, !hasTrailers)
    state = 'over'
    if (hasTrailers) sendTrailers(stream.send, 'response')
  }
  // The stream of a GET answers no request, and its first event may take long: its headers leave at once.
  if (caller.asked === 'all') open()
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
  if (event.data === undefined || event.data.trim() === '') return { bytes: raw, isSilent: true }
  const data = await filterMessage(event.data, caller)
  if (!data.ok) return undefined
  if (data.value === event.data) return { bytes: raw, isSilent: false }
  const bytes = await inTurns(withEventData(event, data.value, pace), caller.ending)
  return bytes && { bytes, isSilent: false }
}

const NO_EVENT: FilteredEvent = { bytes: new Uint8Array(), isSilent: true }
/** An event, and the message that it is sent in, cost as much as reading this many JSON values. */
const EVENT_UNITS = 16
/** Headers to remove from a reply whose length is unknown when its headers are sent. */
const LENGTHS = ['content-length', ...OF_THE_BYTES]
