// Builds what a webhook is asked: the entries in its wire format, and the headers from expressions (decisions 15 and
// 24).

import type { Attributes } from '../../extauthz/cel/attributes.js'
import { Budget } from '../../extauthz/cel/budget.js'
import { quoted } from '../../kit/json/print-json.js'
import { Pace, PIECE, piecesOf, type Soon, unitsOf, type Work } from '../../kit/turns.js'
import { joinInTurns } from '../../kit/utf8.js'
import { HOP, HOPS_HEADER, MAX_HOPS, QUESTION_HOPS } from '../../model/hops.js'
import type { Phase } from '../../model/proc-entry.js'
import type { EntryPart } from '../llm/text/conversation.js'
import type { CompiledWebhook } from './compiled-guard.js'
import type { Shown } from './webhook-answer.js'

/** The HTTP request to a webhook. */
export interface WebhookRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** body.tool: the subject of an MCP message. */
export interface ShownTool {
  readonly method?: string
  readonly name?: string
}

/** Builds the request to a webhook. */
export function webhookRequest(
  compiled: CompiledWebhook,
  phase: Phase,
  shown: readonly Shown[],
  attributes: Attributes,
  budget = new Budget(),
  tool?: ShownTool,
): Soon<WebhookRequest> {
  const head = headOf(compiled, attributes, budget)
  return isShort(shown)
    ? { ...head, body: shortBodyOf(phase, shown, tool) }
    : withLongBody(head, phase, shown, tool)
}

function* withLongBody(
  head: Omit<WebhookRequest, 'body'>,
  phase: Phase,
  shown: readonly Shown[],
  tool: ShownTool | undefined,
): Work<WebhookRequest> {
  return { ...head, body: yield* longBodyOf(phase, shown, tool) }
}

function headOf(
  { headers: compiled, host, path: ownPath }: CompiledWebhook,
  attributes: Attributes,
  budget: Budget,
): Omit<WebhookRequest, 'body'> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'gatehouse',
    host,
  }
  let [method, path] = ['POST', ownPath]
  for (const { name, expression } of compiled) {
    const value = expression.evaluate(attributes, budget)
    if (!value.ok) continue
    const text = headerText(value.value)
    if (name === ':method') method = TOKEN.test(text) ? text : method
    else if (name === ':path') path = PATH.test(text) ? text : path
    else if (name === ':authority') headers['host'] = AUTHORITY.test(text) ? text : host
    else if (VALUE.test(text)) headers[name] = text
  }
  // Last, so that no expression resets it: the webhook may be behind the gateway whose request it is asked about.
  headers[HOPS_HEADER] = `${receivedHops(attributes)}${QUESTION_HOPS}`
  return { method, path, headers }
}

/** Most bytes of method, path, names and values: Node, gunicorn and others refuse longer heads (431, 400). */
export const MOST_HEAD = 16_000

/** Returns the bytes of method, path, names and values: each character is one. */
export function headLength({ method, path, headers }: WebhookRequest): number {
  let length = method.length + path.length
  for (const name in headers) length += name.length + (headers[name] ?? '').length
  return length
}

/** Whether a gateway would answer the call with 508, so that its client could choose that there is no verdict. */
export const isLastHop = (attributes: Attributes): boolean =>
  receivedHops(attributes).length + QUESTION_HOPS.length >= MAX_HOPS

/** Beside a mesh nobody counts before Gatehouse, so that the value may be any text of the client's. */
function receivedHops({ request }: Attributes): string {
  const received = request?.valuesOf?.(HOPS_HEADER) ?? request?.headers.get(HOPS_HEADER) ?? ''
  const { length } = typeof received === 'string' ? received : received.join('')
  return HOP.repeat(Math.min(length, MAX_HOPS))
}

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const PATH = /^\/[\x21-\x7e]*$/
const AUTHORITY = /^[\w.:[\]%~-]{1,512}$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** Values of the client's headers are bytes already; anything beyond them is sent as UTF-8. */
const headerText = (value: string): string =>
  /[^\x00-\xff]/.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value

/** Entries and characters that are encoded without a pause. */
const FEW = 64
const SHORT = 16 * 1024

function isShort(shown: readonly Shown[]): boolean {
  if (shown.length > FEW) return false
  let length = 0
  for (const { content } of shown) length += content.length
  return length <= SHORT
}

function shortBodyOf(
  phase: Phase,
  shown: readonly Shown[],
  tool: ShownTool | undefined,
): Uint8Array {
  const list =
    phase === 'request' ? { messages: shown.map(messageOf) } : { choices: shown.map(choiceOf) }
  return Buffer.from(JSON.stringify({ body: tool === undefined ? list : { tool, ...list } }))
}

const messageOf = ({ role, content, part }: Shown): object => ({
  role,
  content,
  ...(part !== undefined && placeOf(part)),
})

/** The number of a message with several texts, and which of them an entry is. */
const placeOf = ({ message, index, of }: EntryPart): object => ({ message, part: { index, of } })

const choiceOf = (shown: Shown): object => ({ message: messageOf(shown) })

/** Encodes the body as it is built: texts of megabytes are never joined into one string. */
function* longBodyOf(
  phase: Phase,
  shown: readonly Shown[],
  tool: ShownTool | undefined,
): Work<Uint8Array> {
  const [list, before, after, end] =
    phase === 'request'
      ? ['"messages":[', '', '', ']}}']
      : ['"choices":[', '{"message":', '}', ']}}']
  const pace = new Pace()
  const parts: Buffer[] = []
  let text = `{"body":{${tool === undefined ? '' : `"tool":${JSON.stringify(tool)},`}${list}`
  for (const [index, { role, content, part }] of shown.entries()) {
    const json = yield* quoted(content, pace)
    text += `${index === 0 ? '' : ','}${before}{"role":${JSON.stringify(role)},"content":`
    for (const piece of piecesOf(json)) {
      text += piece
      if (text.length < PIECE) continue
      if (pace.isDue(unitsOf(text.length))) yield
      parts.push(Buffer.from(text))
      text = ''
    }
    text += part === undefined ? '' : `,${JSON.stringify(placeOf(part)).slice(1, -1)}`
    text += `}${after}`
  }
  parts.push(Buffer.from(text + end))
  return yield* joinInTurns(parts, pace)
}
