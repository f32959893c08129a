// Answers every request on the well-known paths of an MCP route: nothing on them ever reaches a backend (decisions 12b and 13).

import { ProcessingMode_BodySendMode as BodySendMode } from '../../grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import type { WellKnownEntry } from '../../ir/proc-entry.js'
import { oauthDocumentAt } from '../../oauth/paths.js'
import { MAX_REGISTRATION_BYTES } from '../../oauth/registration.js'
import {
  AWAIT_BODY,
  errorReply,
  immediateResponse,
  type Reply,
} from '../stream/immediate-response.js'
import type { BodyPart, HeadersPart } from '../stream/process-message.js'
import {
  type FirstMessage,
  type Processor,
  type ProcessorStream,
  UnexpectedMessage,
} from '../stream/processor.js'
import { type RequestView, requestView } from '../stream/request-view.js'
import { metadataReply } from './metadata-reply.js'
import { refusedReply, type RegistrationDeps, registrationReply } from './registration-reply.js'

const BUFFERED: number = BodySendMode.BUFFERED

type State = 'start' | 'awaiting-body' | 'answered'

export function createWellKnownProcessor(
  entry: WellKnownEntry,
  stream: ProcessorStream,
  deps: RegistrationDeps,
): Processor {
  let state: State = 'start'

  const enter = (expected: State, next: State, phase: string): void => {
    if (state !== expected) throw new UnexpectedMessage(`${phase} when ${state}`)
    state = next
  }
  const answer = (reply: Reply): void => stream.send(immediateResponse(reply))
  let hops: string | undefined
  const register = async (body: Uint8Array): Promise<void> =>
    answer(await registrationReply(entry.registration, { body, hops }, stream.signal, deps))
  const refuse = (phase: string) => (): never => {
    throw new UnexpectedMessage(`${phase} when ${state}`)
  }

  const requestHeaders = (message: HeadersPart, { config }: FirstMessage): Promise<void> | void => {
    enter('start', 'answered', 'request headers')
    const request = requestView(message)
    hops = request?.hops
    const next = replyToHeaders(entry, request)
    if (next !== 'register') return answer(next)
    if (message.endOfStream) return register(new Uint8Array())
    // Only a buffered body holds the headers back; any other mode would let them pass.
    if (config !== undefined && config.requestBodyMode !== BUFFERED)
      throw new UnexpectedMessage('request headers of a body that is not buffered')
    state = 'awaiting-body'
    stream.send(AWAIT_BODY)
  }

  const requestBody = (message: BodyPart): Promise<void> => {
    enter('awaiting-body', 'answered', 'request body')
    return register(message.body)
  }

  return {
    requestHeaders,
    requestBody,
    requestTrailers: refuse('request trailers'),
    responseHeaders: refuse('response headers'),
    responseBody: refuse('response body'),
    responseTrailers: refuse('response trailers'),
    isDone: () => state === 'answered',
  }
}

function replyToHeaders(
  entry: WellKnownEntry,
  request: RequestView | undefined,
): Reply | 'register' {
  if (request === undefined)
    return errorReply(400, ['invalid_request', 'not a request'], 'gatehouse_bad_request')
  const document = oauthDocumentAt(entry.paths.mcpPath, request.path)
  switch (document) {
    case 'registration':
      return replyToRegistration(entry, request)
    case 'resource-metadata':
    case 'server-metadata':
      return metadataReply(document, entry, request)
    case undefined:
      return errorReply(
        404,
        ['not_found', 'there is no metadata at this path'],
        'gatehouse_metadata_path',
      )
  }
}

function replyToRegistration(
  { registration }: WellKnownEntry,
  { method, contentLength }: RequestView,
): Reply | 'register' {
  if (method !== 'POST')
    return errorReply(
      405,
      ['invalid_request', 'clients register with POST'],
      'gatehouse_registration_method',
      { allow: 'POST' },
    )
  if (registration.type === 'refuse') return refusedReply(registration.description)
  return contentLength !== undefined && contentLength > MAX_REGISTRATION_BYTES
    ? errorReply(
        413,
        ['invalid_client_metadata', 'the registration is larger than 64 KiB'],
        'gatehouse_registration_size',
      )
    : 'register'
}
