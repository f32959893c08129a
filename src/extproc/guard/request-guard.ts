// The request phase of a guarded route: holds headers and body until the webhooks have seen the content (decisions
// 15-19).

import type { Attributes } from '../../cel/attributes.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { SEAL_HEADERS } from '../../ir/names.js'
import { type HeaderChange, sendBody, sendHeaders, sendTrailers } from '../stream/guard-messages.js'
import { immediateResponse } from '../stream/immediate-response.js'
import type { BodyPart, HeadersPart } from '../stream/process-message.js'
import { type FirstMessage, type ProcessorStream, UnexpectedMessage } from '../stream/processor.js'
import type { GuardDeps } from '../webhook/ask-webhooks.js'
import type { Guard } from '../webhook/compiled-guard.js'
import { createGuardedPhase } from './guarded-phase.js'
import type { HeldBody } from './held-body.js'
import {
  busyRequest,
  inspectRequest,
  requestPath,
  requestTooLarge,
  requestTooSlow,
  unreadableRequest,
} from './inspect-request.js'
import type { Refused } from './inspection.js'
import { type GuardedRequest, guardedRequest } from './request-attributes.js'

export interface RequestGuard {
  headers(message: HeadersPart, first: FirstMessage): Promise<void> | void
  body(message: BodyPart): Promise<void> | void
  trailers(): Promise<void> | void
  /** Returns what expressions read in both phases; empty before the headers. */
  attributes(): Attributes
  /** Whether the request had a body; if so, its reply must be an LLM's. */
  hadBody(): boolean
  /** Whether Envoy has sent the request's headers to Gatehouse. */
  wasSeen(): boolean
  /** Whether Gatehouse has answered the request itself; no response follows then. */
  isRefused(): boolean
}

export function createRequestGuard(
  guard: Guard,
  stream: ProcessorStream,
  deps: GuardDeps,
): RequestGuard {
  let attributes: Attributes = {}
  let hadBody = false
  let timer: NodeJS.Timeout | undefined
  const refuse = (refused: Refused): void => {
    clearTimeout(timer)
    phase.become('refused')
    deps.logRefusal(guard.route, 'request', refused)
    stream.send(immediateResponse(refused.reply))
  }
  const path = (): string => requestPath(attributes)
  const complete = async (held: HeldBody, hasTrailers: boolean): Promise<void> => {
    clearTimeout(timer)
    hadBody = held.size > 0
    const context = { guard, attributes, signal: stream.signal }
    const inspected = hadBody ? await inspectRequest(held, context, deps) : NO_BODY
    if (inspected.type === 'refused') return refuse(inspected)
    if (inspected.type === 'aborted') return
    phase.become('done')
    sendRequest(guard, stream, inspected.body, hasTrailers)
  }
  const tooLarge = (): void => refuse(requestTooLarge(path()))
  const busy = (): void => refuse(busyRequest(path()))
  const phase = createGuardedPhase('request', stream, deps, { tooLarge, busy, complete })
  const hold = (request: GuardedRequest): void => {
    phase.become('holding')
    const refused = refusalOf(request, deps.maxBodyBytes)
    if (refused !== undefined) return refuse(refused)
    timer = setTimeout(() => refuse(requestTooSlow(path())), deps.bodyTimeoutMs)
    stream.signal.addEventListener('abort', () => clearTimeout(timer))
  }
  return {
    headers: (message, { config, metadata }) => {
      phase.expectHeaders()
      if (guard.response.length > 0) expectFullDuplex('reply', config?.responseBodyMode)
      const request = guardedRequest(message.headers, metadata)
      attributes = request.attributes
      if (guard.request.length > 0 && !message.endOfStream) {
        expectFullDuplex('request', config?.requestBodyMode)
        return hold(request)
      }
      phase.become(message.endOfStream ? 'done' : 'passing')
      sendHeaders(stream.send, 'request', changeOf(guard))
    },
    body: (message) => {
      hadBody ||= phase.state === 'passing' && message.body.length > 0
      return phase.body(message)
    },
    trailers: () => phase.trailers(),
    attributes: () => attributes,
    hadBody: () => hadBody,
    wasSeen: () => phase.state !== 'start',
    isRefused: () => phase.state === 'refused',
  }
}

const NO_BODY = { type: 'passed', body: new Uint8Array() } as const

const FULL_DUPLEX: number = BodySendMode.FULL_DUPLEX_STREAMED

/**
 * Throws unless the body is in full duplex. In other modes headers would leave before their body was seen, or the body
 * unseen. undefined: Envoy did not send the mode.
 */
function expectFullDuplex(what: 'request' | 'reply', mode: number | undefined): void {
  if (mode !== FULL_DUPLEX)
    throw new UnexpectedMessage(`a ${what} whose body is not in full duplex`)
}

/** Returns the refusal of a request whose headers rule out guarding its body; undefined: they do not. */
function refusalOf(
  { attributes, problem, contentLength = 0 }: GuardedRequest,
  maxBodyBytes: number,
): Refused | undefined {
  const path = requestPath(attributes)
  if (problem !== undefined) return unreadableRequest(problem, path)
  return contentLength > maxBodyBytes ? requestTooLarge(path) : undefined
}

/**
 * Returns the header changes of a request that goes on. A reply that will be guarded must not be compressed, which
 * costs more work to read, or partial, which cannot be read.
 */
function changeOf({ response, seal }: Guard): HeaderChange {
  const read: HeaderChange =
    response.length === 0
      ? {}
      : { set: { 'accept-encoding': 'identity' }, remove: ['range', 'if-range'] }
  if (seal === undefined) return read
  return { ...read, set: { ...read.set, [SEAL_HEADERS.guard]: seal }, choosesRoute: true }
}

function sendRequest(
  guard: Guard,
  { send }: ProcessorStream,
  body: Uint8Array,
  hasTrailers: boolean,
): void {
  const change = changeOf(guard)
  const length: Readonly<Record<string, string>> = hasTrailers
    ? {}
    : { 'content-length': String(body.length) }
  sendHeaders(send, 'request', { ...change, set: { ...change.set, ...length } })
  sendBody(send, 'request', body, !hasTrailers)
  if (hasTrailers) sendTrailers(send, 'request')
}
