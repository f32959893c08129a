// Guards one HTTP exchange with an MCP server: the messages of the request, then those of the reply, as a body or as
// events.

import { type AskedCall, keptBytes, NOTHING_ASKED } from '../../mcp/texts/guarded-message.js'
import type { GuardedPhase } from '../guard/guarded-phase.js'
import { isEventStream, isSuccess } from '../guard/inspect-reply.js'
import { createRequestGuard } from '../guard/request-guard.js'
import type { ListCaller } from '../lists/filter-list.js'
import { callerOf } from '../lists/lists-processor.js'
import { expectFullDuplex } from '../stream/full-duplex.js'
import { sendHeaders } from '../stream/guard-messages.js'
import { openUntil } from '../stream/held-bytes.js'
import type { Headers } from '../stream/process-message.js'
import type { FirstMessage, Processor, ProcessorStream } from '../stream/processor.js'
import { createOwnReply, type OwnReply } from '../stream/reply-output.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { createMcpEventReply, type McpEventReply } from './event-reply.js'
import { createHeldMcpReply, problemOfHeaders } from './held-reply.js'
import type { McpExchange, McpGuard } from './mcp-guard.js'
import { mcpRequests } from './mcp-requests.js'

/** onAsked: called when the calls of the request are known. */
export function createMcpGuardProcessor(
  guard: McpGuard,
  stream: ProcessorStream,
  deps: GuardDeps,
  onAsked?: () => void,
): Processor {
  let unanswered = new Map<unknown, AskedCall>(NOTHING_ASKED)
  let isBatch = false
  let caller: ListCaller | undefined
  let headers: Headers = new Map()
  let events: McpEventReply | undefined
  const exchange: McpExchange = {
    ...{ guard, deps, signal: stream.signal },
    attributes: () => request.attributes(),
    unanswered: () => unanswered,
    answered: (id) => unanswered.delete(JSON.parse(id)),
    isBatch: () => isBatch,
    caller: () => caller,
  }
  const kept = openUntil(stream.signal, deps.heldBytes)
  const form = mcpRequests(exchange, (asked, wasBatch) => {
    unanswered = new Map(asked)
    isBatch = wasBatch
    onAsked?.()
    return kept.become(keptBytes(asked))
  })
  const request = createRequestGuard(form, stream, deps)
  const own = createOwnReply(stream)
  const held = createHeldMcpReply(exchange, stream, own, () => headers)
  const follow = (isWhole: boolean, { config }: FirstMessage): void => {
    // An earlier filter has answered, e.g. with Gatehouse's 401: the request never left the gateway.
    const isOfTheGateway = !request.wasSeen() && !isSuccess(headers)
    if (isWhole || isOfTheGateway || (guard.response.length === 0 && caller === undefined)) {
      held.phase.become(isWhole ? 'done' : 'passing')
      return sendHeaders(stream.send, 'response')
    }
    // Otherwise the request's first message had the mode.
    if (!request.wasSeen()) expectFullDuplex('reply', config?.responseBodyMode)
    if (isSuccess(headers) && isEventStream(headers) && problemOfHeaders(headers) === undefined) {
      held.phase.become('done')
      events = createMcpEventReply(exchange, stream, headers)
    } else held.start()
  }
  return {
    requestHeaders: (message, first) => {
      caller = first.metadata && guard.rules && callerIn(first.metadata, guard, stream, deps)
      return request.headers(message, first)
    },
    requestBody: (message) => request.body(message),
    requestTrailers: () => request.trailers(),
    responseHeaders: (message, first) => {
      held.phase.expectHeaders()
      headers = message.headers
      follow(message.endOfStream, first)
    },
    ...passedTo(own, () => events ?? held.phase),
    isDone: () =>
      request.isRefused() || (!own.isOwed() && (events?.isDone() ?? isOver(held.phase))),
  }
}

/** Passes on what follows the headers of a reply. */
const passedTo = (
  own: OwnReply,
  reply: () => Pick<GuardedPhase, 'body' | 'trailers'>,
): Pick<Processor, 'responseBody' | 'responseTrailers'> => ({
  responseBody: (message) => {
    own.begin(false)
    return reply().body(message)
  },
  responseTrailers: () => {
    own.begin(true)
    return reply().trailers()
  },
})

const isOver = ({ state }: { readonly state: string }): boolean =>
  state === 'done' || state === 'refused'

function callerIn(
  metadata: Buffer,
  { rules }: McpGuard,
  { signal }: ProcessorStream,
  { costly }: GuardDeps,
): ListCaller | undefined {
  return rules && callerOf(metadata, rules, signal, costly)
}
