// The form of requests to an MCP server: which messages webhooks are asked about, and how their verdicts are applied.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import {
  decodedHeader,
  encodedHeader,
  type HttpHeaderValues,
} from '../../extauthz/mcp/header-values.js'
import { readMcpRequest, UNREAD_ENCODING } from '../../extauthz/mcp/http-message.js'
import { McpProblem } from '../../extauthz/mcp/mcp-problem.js'
import { type McpMessage, readMessage } from '../../extauthz/mcp/message.js'
import { assertParams, PARAM_PREFIX } from '../../extauthz/mcp/param-headers.js'
import {
  applyEdits,
  type Edit,
  type JsonText,
  readJsonTextInTurns,
} from '../../kit/json/json-text.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import { inTurns, Pace, type Work } from '../../kit/turns.js'
import { encodeUtf8InTurns, joinInTurns } from '../../kit/utf8.js'
import type { RequestFinding } from '../guard/inspect-request.js'
import type { Aborted, Refused } from '../guard/inspection.js'
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
import {
  type AskedCalls,
  askedCalls,
  type GuardedMessage,
  NOTHING_ASKED,
  readClientMessages,
} from './texts/guarded-message.js'
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
    refusalOf: ({ encoding }) => (encoding === undefined ? undecodable() : undefined),
    tooLarge: () => mcpTooLarge(NO_CALLS),
    tooSlow: () => mcpTooSlow(NO_CALLS),
    busy: () => mcpBusy(NO_CALLS),
    undecodable,
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
    const changing = changed(json, edits, single === undefined ? NO_HEADERS : headers, params)
    const result = await inTurns(changing, exchange.signal)
    if (result === undefined) return ABORTED
    return { type: 'passed', ...result }
  } catch (error) {
    if (error instanceof McpProblem) return unreadableMcpRequest(error, { tool: single?.tool.name })
    throw error
  }
}

const undecodable = (): Refused =>
  unreadableMcpRequest(new McpProblem('invalid-request', UNREAD_ENCODING))

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

/** Applies the edits. all: headers that may repeat what they change. params: those of arguments. @throws McpProblem */
function* changed(
  json: JsonText,
  edits: readonly Edit[],
  all: HttpHeaderValues,
  params: Readonly<Record<string, string>>,
): Work<Changed> {
  const pace = new Pace()
  if (edits.length === 0) return { body: yield* encodeUtf8InTurns(json.text, pace), headers: {} }
  const text = yield* applyEdits(json.text, edits, pace)
  const headers = yield* changedRepeats(all, params, json, text)
  return { body: yield* encodeUtf8InTurns(text, pace), headers }
}

// Headers that repeat parts of a message (revision 2026-07-28): its method, version and name, and arguments of a tool call
// (Mcp-Param-…). They must not tell the server what webhooks have not seen, or have masked.

/**
 * Returns the headers whose arguments the webhooks have changed, with the new values. contents: one per entry of the
 * message; undefined: a batch, which has no such headers.
 */
function changedParams(
  headers: HttpHeaderValues,
  message: GuardedMessage | undefined,
  contents: readonly string[],
): Readonly<Record<string, string>> {
  const changed: Record<string, string> = {}
  for (const [name, value] of headers) {
    if (!name.startsWith(PARAM_PREFIX)) continue
    const text = typeof value === 'string' ? decodedHeader(value) : undefined
    const places = (message?.entries ?? []).flatMap(({ content }, index) =>
      content === text ? [index] : [],
    )
    const now = places.map((index) => contents[index] ?? '').find((content) => content !== text)
    if (now !== undefined) changed[name] = encodedHeader(now)
  }
  return changed
}

/** Returns what headers repeat of a message; undefined: it has no such part. */
function repeatedOf({
  method,
  name,
  protocolVersion,
}: McpMessage): Readonly<Record<string, string | undefined>> {
  return {
    'mcp-method': method,
    'mcp-name': name,
    'mcp-protocol-version': protocolVersion === '' ? undefined : protocolVersion,
  }
}

/**
 * Returns the headers whose parts of the message the webhooks have changed, with the new values, those of arguments
 * included. before: the message, with which the headers agree. after: the text that it has become. What is changed is read
 * again, as it may have been shown as a part of some JSON. params: result of changedParams().
 * @throws McpProblem for a header that repeats nothing any more.
 */
function* changedRepeats(
  headers: HttpHeaderValues,
  params: Readonly<Record<string, string>>,
  before: JsonText,
  after: string,
): Work<Readonly<Record<string, string>>> {
  const old = Object.entries(repeatedOf(readMessage(before.root, before.text))).filter(([name]) =>
    headers.has(name),
  )
  const hasParams = [...headers.keys()].some((name) => name.startsWith(PARAM_PREFIX))
  if (old.length === 0 && !hasParams) return {}
  const message = yield* messageIn(after)
  if (message === undefined) throw gone(old[0]?.[0] ?? PARAM_PREFIX)
  yield* assertParams(message, new Map([...headers, ...Object.entries(params)]), after)
  const now = repeatedOf(message)
  const changed: Record<string, string> = { ...params }
  for (const [name, text] of old) {
    if (now[name] === text) continue
    if (now[name] === undefined) throw gone(name)
    changed[name] = encodedHeader(now[name])
  }
  return changed
}

const gone = (name: string): McpProblem =>
  new McpProblem('header-mismatch', `Header mismatch: ${name} repeats nothing any more`)

/** undefined: no message. */
function* messageIn(text: string): Work<McpMessage | undefined> {
  const json = yield* readJsonTextInTurns(text)
  try {
    return json.ok ? readMessage(json.value.root, text) : undefined
  } catch (error) {
    if (error instanceof McpProblem || error instanceof UnreadableForm) return undefined
    throw error
  }
}
