// The form of requests to an MCP server: which messages webhooks are asked about, and how their verdicts are applied.

import type { Attributes } from '../../cel/attributes.js'
import { applyEdits, type Edit, type JsonText } from '../../json/json-text.js'
import type { HttpHeaderValues } from '../../mcp/header-agreement.js'
import { readMcpRequest } from '../../mcp/http-message.js'
import { McpProblem } from '../../mcp/mcp-problem.js'
import {
  type AskedCalls,
  askedCalls,
  type GuardedMessage,
  NOTHING_ASKED,
  readClientMessages,
} from '../../mcp/texts/guarded-message.js'
import { inTurns, Pace, type Work } from '../../turns.js'
import { encodeUtf8InTurns, joinInTurns } from '../../utf8.js'
import type { RequestFinding } from '../guard/inspect-request.js'
import type { Aborted } from '../guard/inspection.js'
import type { RequestForm } from '../guard/request-guard.js'
import { inspectsOf } from '../webhook/compiled-guard.js'
import { inspectMessage } from './inspect-message.js'
import type { McpExchange } from './mcp-guard.js'
import {
  type Answered,
  mcpBusy,
  mcpRejected,
  mcpTooLarge,
  mcpTooSlow,
  mcpUnavailable,
  unreadableMcpRequest,
} from './mcp-replies.js'
import { changedParams, changedRepeats } from './repeated-headers.js'
import { subjectOf } from './withheld-line.js'

/** onAsked: called with the requests of the body. It returns whether they have room among what is held. */
export function mcpRequests(
  exchange: McpExchange,
  onAsked: (asked: AskedCalls, isBatch: boolean) => boolean,
): RequestForm {
  const { guard, signal } = exchange
  return {
    guard,
    readsRequests: true,
    readsReplies: true,
    // A reply that is compressed or partial could not be read.
    change: () => ({ set: { 'accept-encoding': 'identity' }, remove: ['range', 'if-range'] }),
    refusalOf: () => undefined,
    tooLarge: () => mcpTooLarge(NO_CALLS),
    tooSlow: () => mcpTooSlow(NO_CALLS),
    busy: () => mcpBusy(NO_CALLS),
    inspect: async (held, attributes) => {
      const body = await inTurns(joinInTurns(held.take()), signal)
      const read = body && (await inTurns(readMcpRequest({ ...factsOf(attributes), body }), signal))
      if (body === undefined || read === undefined) return ABORTED
      if (!read.ok) return unreadableMcpRequest(read.error)
      const { json } = read.value
      if (json === undefined) return { type: 'passed', body }
      const answered = { asked: askedCalls(json), isBatch: json.root.type === 'array' }
      if (!onAsked(answered.asked, answered.isBatch)) return mcpBusy(answered)
      if (guard.request.length === 0) return { type: 'passed', body }
      const messages = await inTurns(readClientMessages(json, inspectsOf(guard.request)), signal)
      if (messages === undefined) return ABORTED
      if (!messages.ok)
        return unreadableMcpRequest(
          new McpProblem('invalid-request', messages.error, read.value.id),
        )
      return inspectMessages(json, messages.value, answered, exchange)
    },
  }
}

/** Asks about each message of a body, and writes the changes back. answered: what an own reply would answer. */
async function inspectMessages(
  json: JsonText,
  messages: readonly GuardedMessage[],
  answered: Answered,
  exchange: McpExchange,
): Promise<RequestFinding> {
  const edits: Edit[] = []
  let contents: readonly string[] = []
  for (const message of messages) {
    const verdict = await inspectMessage(message, 'request', exchange)
    if (verdict.type === 'aborted') return verdict
    if (verdict.type !== 'pass')
      return verdict.type === 'reject'
        ? mcpRejected(answered, verdict)
        : mcpUnavailable(answered, subjectOf(message, verdict))
    edits.push(...verdict.edits)
    contents = verdict.contents
  }
  const single = answered.isBatch ? undefined : messages[0]
  try {
    const { headers } = factsOf(exchange.attributes())
    const params = changedParams(headers, single, contents)
    const changing = changed(json, edits, single === undefined ? NO_HEADERS : headers)
    const result = await inTurns(changing, exchange.signal)
    if (result === undefined) return ABORTED
    return { type: 'passed', body: result.body, headers: { ...params, ...result.headers } }
  } catch (error) {
    if (error instanceof McpProblem) return unreadableMcpRequest(error, { tool: single?.tool.name })
    throw error
  }
}

const NO_CALLS = { asked: NOTHING_ASKED, isBatch: false }
const ABORTED: Aborted = { type: 'aborted' }

const factsOf = ({
  request,
}: Attributes): Pick<Parameters<typeof readMcpRequest>[0], 'method' | 'headers'> => ({
  method: request?.method ?? '',
  headers: request?.headers ?? new Map(),
})

const NO_HEADERS: HttpHeaderValues = new Map()

interface Changed {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Applies the edits. all: headers that may repeat what they change. @throws McpProblem */
function* changed(json: JsonText, edits: readonly Edit[], all: HttpHeaderValues): Work<Changed> {
  const pace = new Pace()
  if (edits.length === 0) return { body: yield* encodeUtf8InTurns(json.text, pace), headers: {} }
  const text = yield* applyEdits(json.text, edits, pace)
  const headers = yield* changedRepeats(all, json, text)
  return { body: yield* encodeUtf8InTurns(text, pace), headers }
}
