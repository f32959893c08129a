// Guards the event stream of an MCP server, event by event. The stream of a POST ends with the answers to its requests;
// that of a GET has no requests to answer.

import { ok } from '../../kit/result.js'
import { inTurns, nextTurn, Pace, PIECE, unitsOf, type Work } from '../../kit/turns.js'
import { asUtf8 } from '../guard/read-reply.js'
import { sendHeaders, sendText, sendTrailers } from '../session/guard-messages.js'
import { BUSY, HELD_FOR_EACH, openUntil } from '../session/held-bytes.js'
import type { BodyPart, Headers } from '../session/process-message.js'
import type { ProcessorStream } from '../session/processor.js'
import { REJECTED } from '../session/refusal-metadata.js'
import { OF_THE_BYTES } from '../session/reply-output.js'
import type { EventFrame } from '../sse/framing/frame.js'
import { piecesWithData, withoutData } from '../sse/framing/frame.js'
import { createSseReader } from '../sse/framing/sse-frames.js'
import { logRefusal, type RefusalSubject } from '../webhook/refusal-log.js'
import { inspectReplyText } from './inspect-reply.js'
import type { McpExchange } from './mcp-guard.js'
import { GUARD_UNAVAILABLE, unreadableText } from './mcp-replies.js'
import type { GuardedMessage } from './texts/guarded-message.js'
import { failedAnswer, rejectedAnswer } from './texts/own-answer.js'
import { logWithheld, subjectOf, WEBHOOK_UNAVAILABLE, type Withheld } from './withheld-line.js'

/** The event stream of an MCP server as it is handled. */
export interface McpEventReply {
  body(part: BodyPart): Promise<void>
  trailers(): Promise<void>
  isDone(): boolean
}

/** Answers the headers of an event stream and guards its events. headers: the server's. */
export function createMcpEventReply(
  exchange: McpExchange,
  stream: ProcessorStream,
  headers: Headers,
): McpEventReply {
  const { deps, guard, signal } = exchange
  const reader = createSseReader(deps.maxBodyBytes, 'kept')
  const hold = openUntil(signal, deps.heldBytes)
  let isOver = false
  let hasTrailers = false
  const finish = (text: string, refusal?: string): void => {
    isOver = true
    hold.release()
    sendText(stream.send, 'response', text, !hasTrailers, refusal)
    if (hasTrailers) sendTrailers(stream.send, 'response')
  }
  /** Ends the stream with an answer to each open request. */
  const fail = ({ problem, by, subject }: Omit<Failure, 'type'>): void => {
    const attributes = exchange.attributes()
    const reason = reasonOf(problem, by)
    logRefusal(deps, { guard, phase: 'response', attributes }, { reason, problem, subject })
    finish(lastEvents(exchange, problem, by), reason)
  }
  const read = async (bytes: Uint8Array, isLast: boolean): Promise<void> => {
    if (!hold.become((reader.held + bytes.length) * HELD_FOR_EACH)) return fail({ problem: BUSY })
    const frames: EventFrame[] = []
    const take = function* (frame: EventFrame) {
      frames.push(frame)
      return ok(undefined)
    }
    let result = await inTurns(reader.push(bytes, take), signal)
    if (result?.ok === true && isLast) result = await inTurns(reader.end(take), signal)
    if (result === undefined) return
    const failure = await passFrames(frames, exchange, stream)
    if (signal.aborted) return
    if (failure !== undefined) return fail(failure)
    if (!result.ok) return fail({ problem: result.error })
    hold.become(reader.held * HELD_FOR_EACH)
  }
  sendHeaders(stream, 'response', { set: asUtf8(headers), remove: LENGTHS })
  return {
    body: async ({ body, endOfStream }) => {
      if (isOver) return
      await read(body, endOfStream)
      if (endOfStream && !isOver && !signal.aborted) finish('')
    },
    trailers: async () => {
      if (isOver) return
      hasTrailers = true
      await read(NOTHING, true)
      if (!isOver && !signal.aborted) finish('')
    },
    isDone: () => isOver,
  }
}

/** A frame, and the message that it is sent in, cost as much as reading this many JSON values. */
const FRAME_UNITS = 16
const NOTHING = new Uint8Array()
/** Headers to remove from a reply whose length is unknown when its headers are sent. */
const LENGTHS = ['content-length', ...OF_THE_BYTES]
/** For the log: the status was already sent. */
function reasonOf(problem: string, by: Withheld | undefined): string {
  if (by !== undefined) return by.type === 'reject' ? REJECTED : 'guardrail_unavailable'
  return problem === BUSY ? 'guardrail_busy' : 'guardrail_unreadable'
}

interface Failure {
  readonly type: 'failed'
  readonly problem: string
  readonly by?: Withheld
  readonly subject?: RefusalSubject
}

type PassedFrame = { readonly type: 'text'; readonly pieces: readonly string[] } | Failure

/** The client has left: nothing is sent any more. */
const NOBODY_WAITS: Failure = { type: 'failed', problem: '' }

const pass = (...pieces: readonly string[]): PassedFrame => ({ type: 'text', pieces })

/** Sends the pieces of a frame in messages of up to twice the size of a piece. */
function* sendWork(pieces: readonly string[], { send }: ProcessorStream, pace: Pace): Work<true> {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length < PIECE) continue
    if (pace.isDue(unitsOf(text.length))) yield
    sendText(send, 'response', text, false)
    text = ''
  }
  if (text !== '') sendText(send, 'response', text, false)
  return true
}

/** Passes frames on in order. Resolves to why one may not pass; undefined: all have, or nobody waits any more. */
async function passFrames(
  frames: readonly EventFrame[],
  exchange: McpExchange,
  stream: ProcessorStream,
): Promise<Failure | undefined> {
  const { signal } = exchange
  const pace = new Pace()
  let silent = ''
  const sendSilent = (): void => {
    if (silent !== '') sendText(stream.send, 'response', silent, false)
    silent = ''
  }
  for (const frame of frames) {
    if (pace.isDue(FRAME_UNITS)) await nextTurn()
    if (signal.aborted) return undefined
    // A stream may have millions of comments and blank lines; they leave together.
    if (frame.data === undefined) {
      silent += frame.raw
      if (silent.length >= PIECE) sendSilent()
      continue
    }
    sendSilent()
    const passed = await passFrame(frame, frame.data, exchange)
    if (signal.aborted) return undefined
    if (passed.type === 'failed') return passed
    await inTurns(sendWork(passed.pieces, stream, pace), signal)
  }
  if (!signal.aborted) sendSilent()
  return undefined
}

/** The address that the transport of revision 2024-11-05 sends its client. */
const ADDRESS = /^(?:https?:\/)?\/[!-~]{1,4095}$/
const IS_ENDPOINT = /^event: ?endpoint$/m

/** data: that of the frame. */
async function passFrame(
  frame: EventFrame,
  data: string,
  exchange: McpExchange,
): Promise<PassedFrame> {
  if (ADDRESS.test(data) && IS_ENDPOINT.test(frame.raw)) return pass(frame.raw)
  const found = await inspectReplyText(data, exchange, 'sent')
  switch (found.type) {
    case 'passed': {
      const pieces = await inTurns(piecesWithData(frame, found.text, new Pace()), exchange.signal)
      return pieces === undefined ? NOBODY_WAITS : { type: 'text', pieces }
    }
    case 'unreadable':
      return { type: 'failed', problem: placed(found.problem, frame) }
    case 'aborted':
      return NOBODY_WAITS
    case 'withheld':
      return withhold(frame, found.message, found.by, exchange)
  }
}

const placed = (problem: string, { place }: EventFrame): string =>
  place === undefined ? problem : `${problem} (${place})`

/**
 * Drops a notification. A request of the server would be waited for in vain: if the client waits for answers on this
 * stream, it gets them now.
 */
function withhold(
  frame: EventFrame,
  message: GuardedMessage,
  by: Withheld,
  exchange: McpExchange,
): PassedFrame {
  if (message.type === 'notification' || exchange.unanswered().size === 0) {
    logWithheld(exchange, message, by)
    return pass(withoutData(frame))
  }
  const problem = by.type === 'reject' ? 'rejected by a webhook' : WEBHOOK_UNAVAILABLE
  return { type: 'failed', problem, by, subject: subjectOf(message, by) }
}

function lastEvents(exchange: McpExchange, problem: string, by: Withheld | undefined): string {
  const calls = [...exchange.unanswered().values()]
  const message = by === undefined ? unreadableText(problem) : GUARD_UNAVAILABLE
  const answers =
    calls.length === 0
      ? [failedAnswer(message)]
      : calls.map((call) =>
          by?.type === 'reject' ? rejectedAnswer(call, by) : failedAnswer(message, call.id),
        )
  return answers.map((answer) => `data: ${answer}\n\n`).join('')
}
