// Filters the lists that an MCP server sends to a caller (mcp.filterLists): JSON is held until it is complete, events
// are filtered one by one. Replies to other requests pass as they arrive.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { CostlyExpressions } from '../../extauthz/cel/costly-expressions.js'
import type { SessionSeal } from '../../extauthz/oauth/session-seal.js'
import type { CompiledRules } from '../../extauthz/rules/judge.js'
import { parseListRequest } from '../../extauthz/rules/list-request.js'
import {
  type CallerFields,
  callerFields,
  type DecisionLog,
  hider,
  requestFields,
} from '../../kit/decision-log.js'
import type { Ending } from '../../kit/ending.js'
import { isJsonObject } from '../../model/json.js'
import type { PolicySource } from '../../model/policy-source.js'
import { expectFullDuplex } from '../session/full-duplex.js'
import { sendHeaders, sendTrailers } from '../session/guard-messages.js'
import { loggedRequest } from '../session/logged-request.js'
import { claimsIn, listRequestIn } from '../session/own-metadata.js'
import type { Headers } from '../session/process-message.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from '../session/processor.js'
import { type BeginningForm, beginningForm } from './beginning.js'
import type { ListCaller } from './filter-list.js'
import {
  createEventReply,
  createJsonReply,
  createPassing,
  type ListReply,
  type ListReplyContext,
  type ListsDeps,
  type RefusableReply,
  type WithheldReply,
} from './list-reply.js'

/** The table entry of a route with mcp.filterLists. */
export interface CompiledLists {
  readonly type: 'lists'
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy that filters lists. */
  readonly policy?: PolicySource
  /** Result of rulesOfLists(). */
  readonly rules: CompiledRules
  /** Absent: sessions are bound to nobody. */
  readonly session?: SessionSeal
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
      if (caller?.attributes.jwt !== undefined) deps.callerIsKnown?.()
      // Otherwise the server could answer in an encoding that Gatehouse does not read.
      sendHeaders(stream, 'request', caller === undefined ? {} : { remove: ['accept-encoding'] })
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

const EVENTS = /^text\/event-stream *(?:;|$)/i

function replyOf(context: ListReplyContext): ListReply {
  const { headers, caller, stream } = context
  const status = headers.get(':status')?.[0] ?? ''
  const isStream = caller.asked === 'all'
  // To a POST, a 202 is no answer; an error has no list.
  if (!status.startsWith('2') || (status === '202' && !isStream))
    return createPassing(stream, false)
  if ((headers.get('content-encoding') ?? []).some((one) => one !== 'identity'))
    return createRefused(context, 'it is compressed')
  // The stream of a GET answers no request, and its first event may take long: its headers leave at once.
  const types = headers.get('content-type') ?? []
  const isDeclared = types.length === 1 && EVENTS.test(types[0] ?? '')
  return isStream && isDeclared ? createEventReply(context, true) : createUndeclaredReply(context)
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

// Handles an answer of an MCP server by what it is, as its content type may not say that.

/** Answers 502 in place of a reply. problem: for the log, without any text of the reply. */
function createRefused(context: ListReplyContext, problem: string): RefusableReply {
  const refused = createJsonReply(context)
  refused.refuse(problem)
  return refused
}

interface Begun {
  /** undefined: not known yet. */
  readonly form: BeginningForm | undefined
  readonly reply: ListReply | undefined
  /** All that has arrived. */
  readonly start: Buffer
}

/** Holds an answer until its first characters tell JSON from an event stream. Anything else is 502. */
function createUndeclaredReply(context: ListReplyContext): ListReply {
  const FORMS: Readonly<Record<BeginningForm, () => ListReply>> = {
    json: () => createJsonReply(context),
    events: () => createEventReply(context),
    neither: () => createRefused(context, 'it is neither JSON nor an event stream'),
  }
  let reply: ListReply | undefined
  /** A few characters at most. */
  let before = Buffer.of()
  const begin = (body: Buffer, isWhole: boolean): Begun => {
    const start = before.length === 0 ? body : Buffer.concat([before, body])
    const form = beginningForm(start, isWhole)
    before = form === undefined ? Buffer.from(start) : Buffer.of()
    reply = form && FORMS[form]()
    return { form, reply, start }
  }
  return {
    body: ({ body, endOfStream }) => {
      if (reply !== undefined) return reply.body({ body, endOfStream })
      const begun = begin(body, endOfStream)
      return begun.reply?.body({ body: begun.start, endOfStream })
    },
    trailers: async () => {
      if (reply !== undefined) return reply.trailers()
      const begun = begin(Buffer.of(), true)
      if (begun.form !== 'neither')
        await begun.reply?.body({ body: begun.start, endOfStream: false })
      return begun.reply?.trailers()
    },
    isDone: () => reply?.isDone() ?? false,
  }
}

// Writes a line of the decision log about a list of an MCP server that its caller does not get.

const MESSAGE = 'list refusal'

/** A list that is withheld. */
export interface RefusedList {
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** The policy that filters lists. */
  readonly policy?: PolicySource | undefined
  /** Headers of the request. */
  readonly headers: Headers
  /** The caller's claims, if a token was verified. */
  readonly jwt: Attributes['jwt']
  /** What Envoy sent with its own call. */
  readonly traceparent?: string | undefined
  readonly reason: string
  /** Absent: the status of the reply has been sent already. */
  readonly status?: number
  /** Without any text of the list. */
  readonly problem: string
}

/** Logs a list that its caller does not get. */
function logRefusedList(log: DecisionLog, refused: RefusedList): void {
  const { route, policy, reason, status, problem } = refused
  const claims = refused.jwt?.json
  const request = loggedRequest(refused.headers)
  const hide = hider(request)
  const caller = (asked?: readonly string[]): CallerFields | undefined =>
    isJsonObject(claims) ? callerFields(claims, { asked, verified: true }, hide) : undefined
  log.refused({
    message: MESSAGE,
    key: { decision: 'deny', reason, status, route },
    caller,
    fields: () => ({
      decision: 'deny',
      reason,
      ...(status !== undefined && { status }),
      route,
      problem,
      ...policy,
      ...requestFields(request, hide, refused.traceparent),
      ...caller(log.claims),
    }),
  })
}
