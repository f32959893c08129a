// Guards one HTTP exchange with an MCP server: the messages of the request, then those of the reply, as a body or as
// events.

import { isEventStream, isSuccess } from '../guard/inspect-reply.js'
import { createRequestGuard } from '../guard/request-guard.js'
import { beginningForm } from '../lists/beginning.js'
import type { ListCaller } from '../lists/filter-list.js'
import { callerOf } from '../lists/lists-processor.js'
import { expectFullDuplex } from '../session/full-duplex.js'
import { sendHeaders } from '../session/guard-messages.js'
import { openUntil } from '../session/held-bytes.js'
import type { BodyPart, Headers, HeadersPart } from '../session/process-message.js'
import type { FirstMessage, Processor, ProcessorStream } from '../session/processor.js'
import { createOwnReply } from '../session/reply-output.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { createMcpEventReply, type McpEventReply } from './event-reply.js'
import { createHeldMcpReply, problemOfHeaders } from './held-reply.js'
import type { McpExchange, McpGuard } from './mcp-guard.js'
import { mcpRequests } from './mcp-requests.js'
import { type AskedCall, keptBytes, NOTHING_ASKED } from './texts/guarded-message.js'

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
  const exchange: McpExchange = {
    guard,
    deps,
    signal: stream.signal,
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
  const reply = createMcpReply(exchange, stream)
  const follow = ({ headers, endOfStream }: HeadersPart, { config }: FirstMessage): void => {
    // An earlier filter has answered, e.g. with Gatehouse's 401: the request never left the gateway.
    const isOfTheGateway = !request.wasSeen() && !isSuccess(headers)
    if (endOfStream || isOfTheGateway || (guard.response.length === 0 && caller === undefined))
      return reply.pass(endOfStream)
    // Otherwise the request's first message had the mode.
    if (!request.wasSeen()) expectFullDuplex('reply', config?.responseBodyMode)
    reply.guard(headers)
  }
  return {
    requestHeaders: (message, first) => {
      caller = first.metadata && guard.rules && callerIn(first.metadata, guard, stream, deps)
      return request.headers(message, first)
    },
    requestBody: (message) => request.body(message),
    requestTrailers: () => request.trailers(),
    responseHeaders: (message, first) => {
      reply.expectHeaders()
      follow(message, first)
    },
    responseBody: (message) => reply.body(message),
    responseTrailers: () => reply.trailers(),
    isDone: () => request.isRefused() || reply.isDone(),
  }
}

function callerIn(
  metadata: Buffer,
  { rules }: McpGuard,
  { signal }: ProcessorStream,
  { costly }: GuardDeps,
): ListCaller | undefined {
  return rules && callerOf(metadata, rules, signal, costly)
}

// The reply of an MCP server on a guarded route: read as events or as one body, by what it is if its headers do not say it.

/** A reply as it is handled. */
export interface McpReply {
  /** Throws UnexpectedMessage unless the headers arrive first. */
  expectHeaders(): void
  /** Passes it on unread. isWhole: it has no body. */
  pass(isWhole: boolean): void
  /** Answers its headers, and guards what follows. */
  guard(headers: Headers): void
  body(part: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
  isDone(): boolean
}

/** Creates the handler of a reply whose headers have not arrived. */
function createMcpReply(exchange: McpExchange, stream: ProcessorStream): McpReply {
  let headers: Headers = new Map()
  let events: McpEventReply | undefined
  /** The first characters of a body, until they tell what it is. */
  let beginning: Buffer | undefined
  const own = createOwnReply(stream)
  const held = createHeldMcpReply(exchange, stream, own, () => headers)
  const reply = (): McpEventReply | typeof held.phase => events ?? held.phase
  const beginEvents = (): void => {
    held.phase.become('done')
    events = createMcpEventReply(exchange, stream, headers)
  }
  const look = (bytes: Buffer, isWhole: boolean): Buffer | undefined => {
    const start = beginning === undefined ? bytes : Buffer.concat([beginning, bytes])
    const form = beginning === undefined ? 'known' : beginningForm(start, isWhole)
    beginning = form === undefined ? start : undefined
    if (form === 'events') beginEvents()
    return form && start
  }
  return {
    expectHeaders: () => held.phase.expectHeaders(),
    pass: (isWhole) => {
      held.phase.become(isWhole ? 'done' : 'passing')
      sendHeaders(stream, 'response')
    },
    guard: (all) => {
      headers = all
      const mayBeEvents = isSuccess(headers) && problemOfHeaders(headers) === undefined
      // The stream of a GET answers no request, and its first event may take long: its headers leave at once.
      if (mayBeEvents && isEventStream(headers) && isGet(exchange)) return beginEvents()
      held.start()
      if (mayBeEvents && held.phase.state === 'holding') beginning = NOTHING
    },
    body: ({ body, endOfStream }) => {
      own.begin(false)
      const start = look(body, endOfStream)
      return start && reply().body({ body: start, endOfStream })
    },
    trailers: async () => {
      own.begin(true)
      const start = look(NOTHING, true)
      if (start !== undefined && start.length > 0)
        await reply().body({ body: start, endOfStream: false })
      await reply().trailers()
    },
    isDone: () => !own.isOwed() && (events?.isDone() ?? isOver(held.phase)),
  }
}

const isGet = ({ attributes }: McpExchange): boolean => attributes().request?.method === 'GET'

const NOTHING = Buffer.of()

const isOver = ({ state }: { readonly state: string }): boolean =>
  state === 'done' || state === 'refused'
