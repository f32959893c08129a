// Filters the lists that an MCP server sends to a caller (mcp.filterLists): JSON is held until it is complete, events
// are filtered one by one. Replies to other requests pass as they arrive.

import type { CostlyExpressions } from '../../cel/costly-expressions.js'
import type { Ending } from '../../ending.js'
import type { PolicySource } from '../../ir/policy-source.js'
import type { CompiledRules } from '../../rules/judge.js'
import { parseListRequest } from '../../rules/list-request.js'
import { expectFullDuplex } from '../stream/full-duplex.js'
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
  type ListReplyContext,
  type ListsDeps,
  type WithheldReply,
} from './list-reply.js'
import { logRefusedList } from './refusal-line.js'

/** The table entry of a route with mcp.filterLists. */
export interface CompiledLists {
  readonly type: 'lists'
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy that filters lists. */
  readonly policy?: PolicySource
  /** Result of rulesOfLists(). */
  readonly rules: CompiledRules
}

/** Creates the processor of an exchange whose lists are filtered. */
export function createListsProcessor(
  lists: CompiledLists,
  stream: ProcessorStream,
  deps: ListsDeps,
): Processor {
  const { rules } = lists
  let asking: Headers = new Map()
  let caller: ListCaller | undefined
  let reply: ListReply | undefined
  const refuse = (): never => {
    throw new UnexpectedMessage('a part that was not asked for')
  }
  return {
    requestHeaders: (message, { metadata, config }) => {
      caller = metadata && callerOf(metadata, rules, stream.signal, deps.costly)
      if (caller !== undefined) expectFullDuplex('reply', config?.responseBodyMode)
      if (caller !== undefined) asking = message.headers
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
      const onWithheld = (withheld: WithheldReply): void =>
        logWithheld(withheld, { lists, headers: asking, caller, deps })
      reply =
        endOfStream || caller === undefined
          ? createPassing(stream, endOfStream)
          : replyOf({ asking, headers, caller, stream, deps, onWithheld })
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
  costly: CostlyExpressions,
): ListCaller | undefined {
  const text = listRequestIn(metadata)
  if (text === undefined) return undefined
  const { asked, attributes } = parseListRequest(text)
  return { asked, attributes: { ...attributes, jwt: claimsIn(metadata) }, rules, costly, ending }
}

const JSON_TYPE = /^application\/json *(?:;|$)/i
const EVENTS = /^text\/event-stream *(?:;|$)/i

function replyOf(context: ListReplyContext): ListReply {
  const { headers, caller, stream } = context
  const status = headers.get(':status')?.[0] ?? ''
  // A 202 has no answer, and an error has no list.
  if (!status.startsWith('2') || status === '202') return createPassing(stream, false)
  const types = headers.get('content-type') ?? []
  const type = types.length === 1 ? (types[0] ?? '') : ''
  const isPlain = (headers.get('content-encoding') ?? []).every((one) => one === 'identity')
  if (isPlain && JSON_TYPE.test(type)) return createJsonReply(context)
  if (isPlain && EVENTS.test(type)) return createEventReply(context)
  if (caller.asked === 'all') return createPassing(stream, false)
  const refused = createJsonReply(context)
  refused.refuse(isPlain ? 'it is neither JSON nor an event stream' : 'it is compressed')
  return refused
}

interface Asked {
  readonly lists: CompiledLists
  readonly headers: Headers
  readonly caller: ListCaller | undefined
  readonly deps: ListsDeps
}

/** Never throws: the answer has been sent. */
function logWithheld(
  withheld: WithheldReply,
  { lists: { route, policy }, headers, caller, deps: { decisions, traceparent } }: Asked,
): void {
  try {
    if (decisions === undefined) return
    const jwt = caller?.attributes.jwt
    logRefusedList(decisions, { ...withheld, route, policy, headers, jwt, traceparent })
  } catch {
    // A log that fails must not end the stream.
  }
}
