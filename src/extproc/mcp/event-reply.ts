// Guards the event stream of an MCP server, event by event. The stream of a POST ends with the answers to its requests;
// that of a GET has no requests to answer.

import type { EventFrame } from '../../llm/framing/frame.js'
import { withData, withoutData } from '../../llm/framing/frame.js'
import { createSseReader } from '../../llm/framing/sse-frames.js'
import { failedAnswer, rejectedAnswer } from '../../mcp/texts/own-answer.js'
import { ok } from '../../result.js'
import { inTurns } from '../../turns.js'
import { refused } from '../guard/inspection.js'
import { sendHeaders, sendText, sendTrailers } from '../stream/guard-messages.js'
import { BUSY } from '../stream/held-bytes.js'
import { jsonReply } from '../stream/immediate-response.js'
import type { BodyPart } from '../stream/process-message.js'
import type { ProcessorStream } from '../stream/processor.js'
import { OF_THE_BYTES } from '../stream/reply-output.js'
import { inspectReplyText, type Withheld } from './inspect-reply.js'
import type { McpExchange } from './mcp-guard.js'
import { GUARD_UNAVAILABLE, unreadableText } from './mcp-replies.js'

export interface McpEventReply {
  body(part: BodyPart): Promise<void>
  trailers(): Promise<void>
  isDone(): boolean
}

/** Number of copies held of each byte: the byte itself, its text, and the question to the webhooks. */
const HELD_FOR_EACH = 3

export function createMcpEventReply(exchange: McpExchange, stream: ProcessorStream): McpEventReply {
  const { deps, guard, signal } = exchange
  const reader = createSseReader(deps.maxBodyBytes)
  const hold = deps.heldBytes.open()
  signal.addEventListener('abort', () => hold.release())
  let isOver = false
  const finish = (text: string, hasTrailers = false): void => {
    isOver = true
    hold.release()
    sendText(stream.send, 'response', text, !hasTrailers)
    if (hasTrailers) sendTrailers(stream.send, 'response')
  }
  /** Ends the stream with an answer to each open request. */
  const fail = (problem: string, by?: Withheld): void => {
    deps.logRefusal(guard.route, 'response', refused(NO_REPLY, problem))
    finish(lastEvents(exchange, problem, by))
  }
  const process = async (frames: readonly EventFrame[]): Promise<void> => {
    for (const frame of frames) {
      const passed = await passFrame(frame, exchange)
      if (signal.aborted || isOver) return
      if (passed.type === 'text') sendText(stream.send, 'response', passed.text, false)
      else return fail(passed.problem, passed.by)
    }
  }
  const read = async (bytes: Uint8Array, isLast: boolean): Promise<void> => {
    if (!hold.become((reader.held + bytes.length) * HELD_FOR_EACH)) return fail(BUSY)
    const frames: EventFrame[] = []
    const take = function* (frame: EventFrame) {
      frames.push(frame)
      return ok(undefined)
    }
    let result = await inTurns(reader.push(bytes, take), signal)
    if (result?.ok === true && isLast) result = await inTurns(reader.end(take), signal)
    if (result === undefined) return
    await process(frames)
    if (signal.aborted || isOver) return
    if (!result.ok) return fail(result.error)
    hold.become(reader.held * HELD_FOR_EACH)
  }
  sendHeaders(stream.send, 'response', { remove: LENGTHS })
  return {
    body: async ({ body, endOfStream }) => {
      if (isOver) return
      await read(body, endOfStream)
      if (endOfStream && !isOver && !signal.aborted) finish('')
    },
    trailers: async () => {
      if (isOver) return
      await read(NOTHING, true)
      if (!isOver && !signal.aborted) finish('', true)
    },
    isDone: () => isOver,
  }
}

const NOTHING = new Uint8Array()
/** Headers to remove from a reply whose length is unknown when its headers are sent. */
const LENGTHS = ['content-length', ...OF_THE_BYTES]
/** For the log: the status was already sent. */
const NO_REPLY = jsonReply(200, {}, '')

type PassedFrame =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'failed'; readonly problem: string; readonly by?: Withheld }

const pass = (text: string): PassedFrame => ({ type: 'text', text })

/** The address that the transport of revision 2024-11-05 sends its client. */
const ADDRESS = /^(?:https?:\/)?\/[!-~]{1,4095}$/
const IS_ENDPOINT = /^event: ?endpoint$/m

async function passFrame(frame: EventFrame, exchange: McpExchange): Promise<PassedFrame> {
  const { data } = frame
  if (data === undefined || (ADDRESS.test(data) && IS_ENDPOINT.test(frame.raw)))
    return pass(frame.raw)
  const found = await inspectReplyText(data, exchange, 'sent')
  switch (found.type) {
    case 'passed':
      return pass(withData(frame, found.text))
    case 'unreadable':
      return { type: 'failed', problem: found.problem }
    case 'aborted':
      return { type: 'failed', problem: '' }
    case 'withheld':
      return withhold(frame, found.message.type, found.by, exchange)
  }
}

/**
 * Drops a notification. A request of the server would be waited for in vain: if the client waits for answers on this
 * stream, it gets them now.
 */
function withhold(
  frame: EventFrame,
  type: string,
  by: Withheld,
  exchange: McpExchange,
): PassedFrame {
  if (type === 'notification' || exchange.unanswered().size === 0) return pass(withoutData(frame))
  const problem = by.type === 'reject' ? 'rejected by a webhook' : 'a webhook is unavailable'
  return { type: 'failed', problem, by }
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
