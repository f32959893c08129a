// Guards a reply of an MCP server that is not an event stream: it is held until it is complete.

import { inTurns, Pace, PIECE, unitsOf, type Work } from '../../kit/turns.js'
import { decodeUtf8InTurns, encodeUtf8InTurns, joinInTurns } from '../../kit/utf8.js'
import { looksLikeJson } from '../guard/error-body.js'
import { createGuardedPhase, type GuardedPhase } from '../guard/guarded-phase.js'
import { isSuccess, lengthOfReply, type ReplyFinding, TOO_LARGE } from '../guard/inspect-reply.js'
import type { Aborted, Refused } from '../guard/inspection.js'
import { sendPassed } from '../guard/read-reply.js'
import { wordsEntry } from '../llm/text/words.js'
import { withRequestId } from '../session/immediate-response.js'
import type { Headers } from '../session/process-message.js'
import type { ProcessorStream } from '../session/processor.js'
import type { OwnReply } from '../session/reply-output.js'
import { loggedReply, logRefusal } from '../webhook/refusal-log.js'
import { inspectMessage } from './inspect-message.js'
import { inspectReplyText } from './inspect-reply.js'
import type { McpExchange } from './mcp-guard.js'
import {
  type Answered,
  mcpBusy,
  mcpRejected,
  mcpUnavailable,
  unreadableMcpReply,
} from './mcp-replies.js'
import type { GuardedMessage } from './texts/guarded-message.js'
import { subjectOf, type Withheld } from './withheld-line.js'

/** A held reply of an MCP server. */
export interface HeldMcpReply {
  readonly phase: GuardedPhase
  /** Begins to hold, or answers a reply that its headers rule out. */
  start(): void
}

/** headers: returns the server's, once they have arrived. */
export function createHeldMcpReply(
  exchange: McpExchange,
  stream: ProcessorStream,
  own: OwnReply,
  headers: () => Headers,
): HeldMcpReply {
  const { deps, guard } = exchange
  const answered = (): Answered => ({
    asked: exchange.unanswered(),
    isBatch: exchange.isBatch(),
  })
  const refuse = (refused: Refused, hasTrailers = false): void => {
    phase.become('refused')
    const attributes = exchange.attributes()
    logRefusal(deps, { guard, phase: 'response', attributes }, loggedReply(refused))
    // The status of an error is kept: clients begin a new session on 404.
    const status = Number(headers().get(':status')?.[0])
    const isKept = refused.reply.status === 200 && !isSuccess(headers())
    const reply = isKept ? { ...refused.reply, status } : refused.reply
    own.send(withRequestId(reply, attributes.request?.headers), headers(), hasTrailers)
  }
  const refuseUnread = (problem: string): void => refuse(unreadableMcpReply(problem, answered()))
  const phase = createGuardedPhase('response', stream, deps, {
    tooLarge: () => refuseUnread(TOO_LARGE),
    busy: () => refuse(mcpBusy(answered())),
    complete: async (held, hasTrailers) => {
      const bytes = await inTurns(joinInTurns(held.take()), stream.signal)
      if (bytes === undefined) return
      const finding = await inspectBody(bytes, answered, exchange, isSuccess(headers()))
      if (finding.type === 'aborted' || exchange.signal.aborted) return
      if (finding.type === 'refused') return refuse(finding, hasTrailers)
      await sendPassed(stream, finding, bytes, headers(), hasTrailers)
      phase.become('done')
    },
  })
  return {
    phase,
    start: () => {
      phase.become('holding')
      const problem = problemOfHeaders(headers())
      if (problem !== undefined) refuseUnread(problem)
      else if (lengthOfReply(headers()) > deps.maxBodyBytes) refuseUnread(TOO_LARGE)
    },
  }
}

/** Returns why a reply with these headers cannot be guarded; undefined: the headers show no reason. */
export function problemOfHeaders(headers: Headers): string | undefined {
  if (headers.get(':status')?.[0] === '206') return 'it is a part of a reply'
  const encodings = headers.get('content-encoding') ?? []
  return encodings.every((encoding) => encoding === 'identity') ? undefined : 'it is compressed'
}

const ABORTED: Aborted = { type: 'aborted' }

async function inspectBody(
  bytes: Uint8Array,
  answered: () => Answered,
  exchange: McpExchange,
  mayBeEvents: boolean,
): Promise<ReplyFinding> {
  if (bytes.length === 0) return { type: 'unread' }
  const { signal } = exchange
  const text = await inTurns(decodeOrNot(bytes), signal)
  if (text === undefined) return ABORTED
  if (text === NOT_UTF8) return unreadableMcpReply('not UTF-8', answered())
  const isJson = exchange.caller() !== undefined || (await inTurns(looksLikeJson(text), signal))
  if (isJson === undefined) return ABORTED
  const isEvents = mayBeEvents && !isJson && (await inTurns(hasEvents(text), signal))
  if (isEvents === undefined) return ABORTED
  if (isEvents)
    return unreadableMcpReply('it has events, but does not declare an event stream', answered())
  const found = isJson
    ? await inspectReplyText(text, exchange, 'unsent')
    : await inspectWords(text, exchange)
  switch (found.type) {
    case 'aborted':
      return found
    case 'unreadable':
      return unreadableMcpReply(found.problem, answered())
    case 'withheld':
      return refusalBy(found.by, answered(), found.message)
    case 'passed': {
      if (found.text === text) return { type: 'same' }
      const body = await inTurns(encodeUtf8InTurns(found.text), signal)
      return body === undefined ? ABORTED : { type: 'changed', body }
    }
  }
}

const refusalBy = (
  by: Withheld,
  answered: Answered,
  message: Pick<GuardedMessage, 'tool'>,
): Refused =>
  by.type === 'reject'
    ? mcpRejected(answered, by)
    : mcpUnavailable(answered, subjectOf(message, by))

/** A text that is no message. */
const NO_TOOL = { tool: {} }
const NOT_UTF8 = Symbol('not UTF-8')

function* decodeOrNot(bytes: Uint8Array): Work<string | typeof NOT_UTF8> {
  return (yield* decodeUtf8InTurns(bytes)) ?? NOT_UTF8
}

/** Inspects a body that is not JSON, such as a page or the words of a proxy: one text. */
async function inspectWords(
  text: string,
  exchange: McpExchange,
): Promise<
  | { readonly type: 'passed'; readonly text: string }
  | {
      readonly type: 'withheld'
      readonly message: Pick<GuardedMessage, 'tool'>
      readonly by: Withheld
    }
  | Aborted
> {
  if (text.trim() === '') return { type: 'passed', text }
  const message = { entries: [wordsEntry(text, 'tool')], ...NO_TOOL }
  const verdict = await inspectMessage(message, 'response', exchange)
  switch (verdict.type) {
    case 'pass':
      return { type: 'passed', text: verdict.edits[0]?.json ?? text }
    case 'aborted':
      return verdict
    default:
      return { type: 'withheld', message: NO_TOOL, by: verdict }
  }
}

// Finds events in a reply that does not declare an event stream: the official TypeScript client reads the answer to a
// GET as events, whatever its content type is.

/**
 * A line with data, after any character that a client takes for a line end. At the start of a text, the TypeScript
 * client drops a byte order mark, and then the three characters of one that was read as Latin-1.
 */
const DATA_LINE = /(?:^\ufeff?(?:\xef\xbb\xbf)?|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])data:/
/** Length of a line end with the field's name, which may lie across two pieces. */
const LONGEST = 6

/** Whether clients could read events in a text. Works in slices. */
function* hasEvents(text: string): Work<boolean> {
  const pace = new Pace()
  for (let at = 0; at < text.length; at += PIECE) {
    if (pace.isDue(unitsOf(PIECE))) yield
    const piece = text.slice(Math.max(0, at - LONGEST), at + PIECE)
    // Only the text begins a line by itself.
    if (DATA_LINE.test(at === 0 ? piece : ` ${piece}`)) return true
  }
  return false
}
