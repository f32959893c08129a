// Decides what becomes of the text of an MCP server's reply: a body, or the data of an event.

import {
  applyEdits,
  type Edit,
  type JsonText,
  readJsonTextInTurns,
} from '../../kit/json/json-text.js'
import { inTurns, Pace } from '../../kit/turns.js'
import type { Aborted } from '../guard/inspection.js'
import { filterMessage } from '../lists/filter-list.js'
import { inspectsOf } from '../webhook/compiled-guard.js'
import { inspectMessage, type MessageVerdict } from './inspect-message.js'
import type { McpExchange } from './mcp-guard.js'
import { GUARD_UNAVAILABLE } from './mcp-replies.js'
import { type GuardedMessage, readServerMessages } from './texts/guarded-message.js'
import { failedAnswer, rejectedAnswer, rejectedError } from './texts/own-answer.js'
import { logWithheld, type Withheld } from './withheld-line.js'

/** What becomes of a text. */
export type TextFinding =
  /** text: with the changes of the webhooks. */
  | { readonly type: 'passed'; readonly text: string }
  /** A message may not pass and has no replacement: a notification, or a request of the server. */
  | { readonly type: 'withheld'; readonly message: GuardedMessage; readonly by: Withheld }
  | { readonly type: 'unreadable'; readonly problem: string }
  | Aborted

const ABORTED: Aborted = { type: 'aborted' }

/**
 * text: JSON. Rejected answers are replaced, and those whose webhook is unavailable, unless status is "unsent": the whole
 * reply is withheld then. exchange is told about each answer.
 */
export async function inspectReplyText(
  text: string,
  exchange: McpExchange,
  status: 'sent' | 'unsent',
): Promise<TextFinding> {
  const { signal } = exchange
  const filtered = await filterLists(text, exchange)
  if (signal.aborted) return ABORTED
  if (filtered.type !== 'passed') return filtered
  const json = await inTurns(readJsonTextInTurns(filtered.text), signal)
  if (json === undefined) return ABORTED
  if (!json.ok) return { type: 'unreadable', problem: json.error }
  return inspectMessages(json.value, exchange, status)
}

async function inspectMessages(
  json: JsonText,
  exchange: McpExchange,
  status: 'sent' | 'unsent',
): Promise<TextFinding> {
  const inspects = inspectsOf(exchange.guard.response)
  const reading = readServerMessages(json, exchange.unanswered(), inspects)
  const messages = await inTurns(reading, exchange.signal)
  if (messages === undefined) return ABORTED
  if (!messages.ok) return { type: 'unreadable', problem: messages.error }
  const edits: Edit[] = []
  for (const message of messages.value) {
    const verdict = await inspectMessage(message, 'response', exchange)
    if (verdict.type === 'aborted') return verdict
    if (verdict.type === 'pass') edits.push(...verdict.edits)
    else if (message.type !== 'response' || (verdict.type === 'unavailable' && status === 'unsent'))
      return { type: 'withheld', message, by: verdict }
    else {
      logWithheld(exchange, message, verdict)
      edits.push({ ...message.place, json: answerInPlaceOf(message, verdict, exchange) })
    }
  }
  for (const { type, id } of messages.value)
    if (type === 'response' && id !== undefined) exchange.answered(id)
  if (edits.length === 0) return { type: 'passed', text: json.text }
  const text = await inTurns(applyEdits(json.text, edits, new Pace()), exchange.signal)
  return text === undefined ? ABORTED : { type: 'passed', text }
}

function answerInPlaceOf(
  { id }: GuardedMessage,
  verdict: Exclude<MessageVerdict, { readonly type: 'pass' | 'aborted' }>,
  exchange: McpExchange,
): string {
  if (verdict.type === 'unavailable') return failedAnswer(GUARD_UNAVAILABLE, id)
  const call = id === undefined ? undefined : exchange.unanswered().get(JSON.parse(id))
  return call === undefined ? rejectedError(verdict, id) : rejectedAnswer(call, verdict)
}

async function filterLists(
  text: string,
  exchange: McpExchange,
): Promise<Extract<TextFinding, { readonly type: 'passed' | 'unreadable' }>> {
  const caller = exchange.caller()
  if (caller === undefined) return { type: 'passed', text }
  const filtered = await filterMessage(text, caller)
  return filtered.ok
    ? { type: 'passed', text: filtered.value }
    : { type: 'unreadable', problem: filtered.error }
}
