// The response phase of a guarded route: a 2xx reply is held until the webhooks have seen what it says, a streamed one
// as it comes (decisions 15-20).
// A refusal is answered by headers and body, so that CORS headers come with it.

import type {
  HttpBody,
  HttpHeaders,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { apiOfPath } from '../../llm/detect-api.js'
import { decoderOf, UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import { identity, type Decoder } from '../encodings/decoder.js'
import {
  bodyMessages,
  headersMessage,
  trailersMessage,
  type HeaderChange,
} from '../stream/guard-messages.js'
import type { ProcessorStream } from '../stream/processor.js'
import { headersOf } from '../stream/request-view.js'
import { beginsArray, eventStream, jsonArray, type Framing } from '../streamed/framing.js'
import { createStreamedPhase, type StreamedPhase } from '../streamed/streamed-phase.js'
import type { GuardDeps } from '../webhook/ask-webhooks.js'
import type { Guard } from '../webhook/compiled-guard.js'
import { createGuardedPhase } from './guarded-phase.js'
import {
  inspectReply,
  encodingOf,
  isEncoded,
  isEventStream,
  isSuccess,
  mayBeRead,
  lengthOfReply,
  passesUnread,
  problemOfReply,
  TOO_LARGE,
  unreadableReply,
  type Headers,
  type ReplyFinding,
} from './inspect-reply.js'
import { requestPath } from './inspect-request.js'
import type { Refused } from './inspection.js'
import type { RequestGuard } from './request-guard.js'

export interface ResponseGuard {
  headers(message: HttpHeaders): Promise<void> | void
  body(message: HttpBody): Promise<void> | void
  trailers(): Promise<void> | void
  /** Nothing of the reply is owed any more. */
  isDone(): boolean
}

export function createResponseGuard(
  guard: Guard,
  request: Pick<RequestGuard, 'attributes' | 'hadBody'>,
  stream: ProcessorStream,
  deps: GuardDeps,
): ResponseGuard {
  let headers: Headers = new Map()
  let streamed: StreamedPhase | undefined
  let mayBeArray = false

  const send = (change: HeaderChange, body: Uint8Array, hasTrailers: boolean): void => {
    const length: Readonly<Record<string, string>> = hasTrailers
      ? {}
      : { 'content-length': String(body.length) }
    stream.send(headersMessage('response', { ...change, set: { ...change.set, ...length } }))
    for (const message of bodyMessages('response', body, !hasTrailers)) stream.send(message)
    if (hasTrailers) stream.send(trailersMessage('response'))
  }
  const refuse = (refused: Refused, hasTrailers = false): void => {
    phase.become('refused')
    deps.logRefusal(guard.route, 'response', refused)
    const { reply } = refused
    const set = { ...reply.headers, ':status': String(reply.status) }
    send({ set, remove: namesToRemove(headers, set) }, reply.body, hasTrailers)
  }
  const refuseUnread = (problem: string): void =>
    refuse(unreadableReply(problem, request.attributes()))
  const inspect = async (bytes: Uint8Array): Promise<ReplyFinding> => {
    if (bytes.length === 0) return { type: 'same' }
    const attributes = request.attributes()
    const context = { guard, headers, attributes, hadBody: request.hadBody() }
    return inspectReply(bytes, { ...context, signal: stream.signal }, deps)
  }
  const complete = async (bytes: Uint8Array, hasTrailers: boolean): Promise<void> => {
    const finding = await inspect(bytes)
    if (finding.type === 'aborted') return
    if (finding.type === 'refused') return refuse(finding, hasTrailers)
    phase.become('done')
    if (finding.type === 'same') send({}, bytes, hasTrailers)
    else send({ remove: OF_THE_BYTES }, finding.body, hasTrailers)
  }
  const phase = createGuardedPhase('response', stream, deps.maxBodyBytes, {
    tooLarge: () => refuseUnread(TOO_LARGE),
    complete,
  })
  const startStream = (framing: Framing, decoder: Decoder | undefined): void => {
    if (decoder === undefined) return refuseUnread(UNREADABLE_ENCODING)
    const context = { guard, attributes: request.attributes(), framing, decoder }
    streamed = createStreamedPhase(context, stream, deps)
    stream.send(headersMessage('response', { remove: ['content-length', ...OF_THE_BYTES] }))
  }
  /** Its headers do not tell an array from an object: the first byte that is no white space does. */
  const lookForArray = (bytes: Uint8Array): void => {
    if (!mayBeArray || phase.state !== 'holding') return
    const isArray = beginsArray(bytes)
    mayBeArray = isArray === undefined
    if (isArray === true) startStream(jsonArray(deps.maxBodyBytes), identity)
  }
  return {
    headers: (message) => {
      phase.expectHeaders()
      headers = headersOf(message)
      const isGuarded =
        guard.response.length > 0 && mayBeRead(headers, deps.maxBodyBytes) && !message.endOfStream
      const problem = isGuarded && isSuccess(headers) ? problemOfReply(headers) : undefined
      if (!isGuarded || (problem !== undefined && passesUnread(guard, problem, deps))) {
        phase.become(message.endOfStream ? 'done' : 'passing')
        return stream.send(headersMessage('response'))
      }
      phase.become('holding')
      if (problem !== undefined) refuseUnread(problem)
      else if (isEventStream(headers))
        startStream(
          eventStream(deps.maxBodyBytes),
          decoderOf(encodingOf(headers), deps.maxBodyBytes),
        )
      else if (lengthOfReply(headers) > deps.maxBodyBytes) refuseUnread(TOO_LARGE)
      else
        mayBeArray =
          isSuccess(headers) && streamsAsArray(headers, requestPath(request.attributes()))
    },
    body: (message) => {
      lookForArray(message.body)
      return (streamed ?? phase).body(message)
    },
    trailers: () => (streamed ?? phase).trailers(),
    isDone: () => streamed?.isDone() ?? (phase.state === 'done' || phase.state === 'refused'),
  }
}

/** Headers that describe the very bytes of a body. */
const OF_THE_BYTES = [
  'content-encoding',
  'etag',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
] as const

/** Gemini's streams are one JSON array unless the client asks for events. */
const streamsAsArray = (headers: Headers, path: string): boolean =>
  apiOfPath(path) === 'gemini' && !isEncoded(headers)

/** A refusal replaces the LLM's reply with its headers; what filters put there for the client stays. */
const namesToRemove = (
  headers: Headers,
  set: Readonly<Record<string, string>>,
): readonly string[] =>
  [...headers.keys()].filter(
    (name) => !/^(?::|access-control-|vary$|date$|x-request-id$)/.test(name) && !(name in set),
  )
