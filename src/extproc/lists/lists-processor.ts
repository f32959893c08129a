// Filters the lists that an MCP server sends to a caller (mcp.filterLists): JSON is held until it is complete, events
// are filtered one by one. Replies to other requests pass as they arrive.

import type { BudgetLimits } from '../../cel/budget.js'
import type { Ending } from '../../ending.js'
import type { CompiledRules } from '../../rules/judge.js'
import { parseListRequest } from '../../rules/list-request.js'
import { sendHeaders, sendTrailers } from '../stream/guard-messages.js'
import { claimsIn, listRequestIn } from '../stream/own-metadata.js'
import type { Headers } from '../stream/process-message.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from '../stream/processor.js'
import type { ListCaller } from './filter-list.js'
import {
  createEventReply,
  createJsonReply,
  createPassing,
  type ListReply,
  type ListsDeps,
} from './list-reply.js'

export interface CompiledLists {
  readonly type: 'lists'
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** Result of rulesOfLists(). */
  readonly rules: CompiledRules
}

export function createListsProcessor(
  { rules }: CompiledLists,
  stream: ProcessorStream,
  deps: ListsDeps,
): Processor {
  let caller: ListCaller | undefined
  let reply: ListReply | undefined
  const refuse = (): never => {
    throw new UnexpectedMessage('a part that was not asked for')
  }
  return {
    requestHeaders: (_message, { metadata }) => {
      caller = metadata && callerOf(metadata, rules, stream.signal, deps.budget)
      // Otherwise the server could answer in an encoding that Gatehouse does not read.
      sendHeaders(
        stream.send,
        'request',
        caller === undefined ? {} : { remove: ['accept-encoding'] },
      )
    },
    requestBody: refuse,
    requestTrailers: refuse,
    responseHeaders: ({ headers, endOfStream }) => {
      reply = endOfStream ? createPassing(stream, true) : replyOf(headers, caller, stream, deps)
    },
    responseBody: (message) => reply?.body(message) ?? undefined,
    responseTrailers: () =>
      reply === undefined ? sendTrailers(stream.send, 'response') : reply.trailers(),
    isDone: () => reply?.isDone() ?? false,
  }
}

/** Returns who has requested a list. undefined: none was requested. @throws {Error} when the metadata is not Gatehouse's. */
export function callerOf(
  metadata: Buffer,
  rules: CompiledRules,
  ending: Ending,
  limits: BudgetLimits,
): ListCaller | undefined {
  const text = listRequestIn(metadata)
  if (text === undefined) return undefined
  const { asked, attributes } = parseListRequest(text)
  return { asked, attributes: { ...attributes, jwt: claimsIn(metadata) }, rules, limits, ending }
}

const JSON_TYPE = /^application\/json *(?:;|$)/i
const EVENTS = /^text\/event-stream *(?:;|$)/i

function replyOf(
  headers: Headers,
  caller: ListCaller | undefined,
  stream: ProcessorStream,
  deps: ListsDeps,
): ListReply {
  const status = headers.get(':status')?.[0] ?? ''
  // A 202 has no answer, and an error has no list.
  if (caller === undefined || !status.startsWith('2') || status === '202')
    return createPassing(stream, false)
  const types = headers.get('content-type') ?? []
  const type = types.length === 1 ? (types[0] ?? '') : ''
  const isPlain = (headers.get('content-encoding') ?? []).every((one) => one === 'identity')
  const context = { headers, caller, stream, deps }
  if (isPlain && JSON_TYPE.test(type)) return createJsonReply(context)
  if (isPlain && EVENTS.test(type)) return createEventReply(context)
  if (caller.asked === 'all') return createPassing(stream, false)
  const refused = createJsonReply(context)
  refused.refuse()
  return refused
}
