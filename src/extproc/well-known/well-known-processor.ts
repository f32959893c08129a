// Answers every request on the well-known paths of an MCP route; none of them reaches a backend (decisions 12b and 13).

import {
  refusedEarly,
  type RelayDeps,
  relayReply,
} from '../../addons/relay/extproc/relay-replies.js'
import { relayRequest } from '../../addons/relay/extproc/relay-request.js'
import { buildRelayMetadata } from '../../addons/relay/oauth/metadata.js'
import { baseUrl } from '../../extauthz/oauth/base-url.js'
import { oauthDocumentAt, type RelayEndpoint, relayEndpointAt } from '../../extauthz/oauth/paths.js'
import { MAX_REGISTRATION_BYTES } from '../../extauthz/oauth/registration.js'
import { buildResourceMetadata } from '../../extauthz/oauth/resource-metadata.js'
import { buildServerMetadata } from '../../extauthz/oauth/server-metadata.js'
import { networkOf } from '../../kit/addresses/network-of.js'
import { type DecisionLog, hider, requestFields } from '../../kit/decision-log.js'
import { abortSignalOf, type Ending } from '../../kit/ending.js'
import type { JsonObject } from '../../model/json.js'
import type { WellKnownEntry } from '../../model/proc-entry.js'
import type { Relay } from '../../model/relay.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { startBodyClock } from '../session/body-clock.js'
import {
  AWAIT_BODY,
  errorReply,
  immediateResponse,
  jsonReply,
  type Reply,
  withRequestId,
} from '../session/immediate-response.js'
import { loggedRequest } from '../session/logged-request.js'
import type { BodyPart, HeadersPart } from '../session/process-message.js'
import {
  type FirstMessage,
  type Processor,
  type ProcessorStream,
  UnexpectedMessage,
} from '../session/processor.js'
import { kindOf, reasonIn } from '../session/refusal-metadata.js'
import { type RequestView, requestView } from '../session/request-view.js'
import { refusedReply, type RegistrationDeps, registrationReply } from './registration-reply.js'

const BUFFERED: number = BodySendMode.BUFFERED

/** What the well-known paths are answered with. */
export interface WellKnownDeps extends RegistrationDeps {
  readonly relay: RelayDeps
  /** Logs the answers of relays and of registration. Absent: they are not logged. */
  readonly decisions?: DecisionLog | undefined
  /** What Envoy sent with its own call; for logs. */
  readonly traceparent?: string | undefined
}

/** What the processor of these paths is created with. */
export interface WellKnownProcessorDeps extends WellKnownDeps {
  /** --body-timeout: milliseconds for the whole body of a request. */
  readonly bodyTimeoutMs: number
}

type State = 'start' | 'awaiting-body' | 'answering' | 'answered'

/** clientAddress: as sent by Envoy; "": not sent. */
export function createWellKnownProcessor(
  entry: WellKnownEntry,
  stream: ProcessorStream,
  deps: WellKnownProcessorDeps,
  clientAddress: string,
): Processor {
  let state: State = 'start'
  let stopClock = (): void => undefined
  let isLate = false

  const enter = (expected: State, next: State, phase: string): void => {
    if (state !== expected) throw new UnexpectedMessage(`${phase} when ${state}`)
    state = next
  }
  let head: HeadersPart | undefined
  const answer = (reply: Reply): void => {
    state = 'answered'
    sendAnswer(reply, head, { entry, stream, deps })
  }
  /** Builds the answer when the body has arrived. */
  let continued: Continued | undefined
  const withBody = async (body: Uint8Array): Promise<void> => {
    const reply = await continued?.(body, stream.signal, deps)
    // Nobody gets it any more, and it must not have a line in the log.
    if (reply !== undefined && !stream.signal.aborted) answer(reply)
  }
  const late = (): void => {
    isLate = true
    answer(TOO_SLOW)
  }

  const requestHeaders = (message: HeadersPart, { config }: FirstMessage): Promise<void> | void => {
    enter('start', 'answering', 'request headers')
    head = message
    const next = replyToHeaders(entry, requestView(message), { message, clientAddress })
    if (typeof next !== 'function') return answer(next)
    continued = next
    if (message.endOfStream) return withBody(new Uint8Array())
    expectBuffered(config)
    state = 'awaiting-body'
    stopClock = startBodyClock(deps.bodyTimeoutMs, stream.signal, late)
    stream.send(AWAIT_BODY)
  }

  const requestBody = (message: BodyPart): Promise<void> | void => {
    // Envoy sent it before it had the answer.
    if (isLate) return
    stopClock()
    enter('awaiting-body', 'answering', 'request body')
    return withBody(message.body)
  }

  return {
    requestHeaders,
    requestBody,
    ...unexpectedParts(() => state),
    isDone: () => state === 'answered',
  }
}

/** Only a buffered body holds the headers back; in any other mode they would pass. */
function expectBuffered(config: FirstMessage['config']): void {
  if (config !== undefined && config.requestBodyMode !== BUFFERED)
    throw new UnexpectedMessage('request headers of a body that is not buffered')
}

/** The parts that are never asked for. */
function unexpectedParts(
  state: () => State,
): Omit<Processor, 'requestHeaders' | 'requestBody' | 'isDone'> {
  const refuse = (phase: string) => (): never => {
    throw new UnexpectedMessage(`${phase} when ${state()}`)
  }
  return {
    requestTrailers: refuse('request trailers'),
    responseHeaders: refuse('response headers'),
    responseBody: refuse('response body'),
    responseTrailers: refuse('response trailers'),
  }
}

/** The exchange that is answered. */
interface Answered {
  readonly entry: WellKnownEntry
  readonly stream: ProcessorStream
  readonly deps: WellKnownDeps
}

/** head: that of the request. */
function sendAnswer(
  reply: Reply,
  head: HeadersPart | undefined,
  { entry, stream, deps }: Answered,
): void {
  stream.send(immediateResponse(withRequestId(reply, head?.headers)))
  try {
    if (deps.decisions && head) logAnswer(deps.decisions, entry, head, reply, deps.traceparent)
  } catch {
    // The answer has been sent; bookkeeping must not end the stream with an error.
  }
}

const TOO_SLOW = errorReply(
  408,
  ['invalid_request', 'the body did not arrive in time'],
  'gatehouse_body-timeout',
)

/** What an answer depends on in addition to the request. */
interface Answering {
  readonly clientAddress: string
  readonly signal: Ending
  readonly deps: WellKnownDeps
}

/** Returns the answer to a whole request, as the processor gives it. */
export async function wellKnownReply(
  entry: WellKnownEntry,
  message: HeadersPart,
  body: Uint8Array,
  { clientAddress, signal, deps }: Answering,
): Promise<Reply> {
  const next = replyToHeaders(entry, requestView(message), { message, clientAddress })
  return typeof next === 'function' ? next(body, signal, deps) : next
}

/** Builds a reply that depends on the body, or on other servers. */
type Continued = (body: Uint8Array, signal: Ending, deps: WellKnownDeps) => Promise<Reply>

/** What a relay reads of a request in addition to its view. */
interface Received {
  readonly message: HeadersPart
  readonly clientAddress: string
}

function replyToHeaders(
  entry: WellKnownEntry,
  request: RequestView | undefined,
  received: Received,
): Reply | Continued {
  if (request === undefined)
    return errorReply(400, ['invalid_request', 'not a request'], 'gatehouse_bad_request')
  const { mcpPath } = entry.paths
  const { relay } = entry
  const document = oauthDocumentAt(mcpPath, request.path)
  if (relay !== undefined) {
    const endpoint = document === 'registration' ? document : relayEndpointAt(mcpPath, request.path)
    if (endpoint !== undefined)
      return replyOfRelay(endpoint, { ...entry, relay }, request, received)
  }
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

function replyOfRelay(
  endpoint: RelayEndpoint | 'registration',
  entry: WellKnownEntry & { readonly relay: Relay },
  { method, path, contentLength }: RequestView,
  { message, clientAddress }: Received,
): Reply | Continued {
  const refused = refusedEarly(endpoint, method, contentLength)
  if (refused !== undefined) return refused
  const request = relayRequest({ method, path, network: networkOf(clientAddress) }, message)
  return (body, signal, { relay: deps }) =>
    relayReply(
      endpoint,
      entry,
      // Copied, because it is read after waiting: the original would keep the whole message in memory meanwhile.
      { ...request, body: Buffer.from(body) },
      { signal: abortSignalOf(signal), deps },
    )
}

function replyToRegistration(
  { registration, route }: WellKnownEntry,
  { method, contentLength, hops }: RequestView,
): Reply | Continued {
  if (method !== 'POST')
    return errorReply(
      405,
      ['invalid_request', 'clients register with POST'],
      'gatehouse_registration_method',
      { allow: 'POST' },
    )
  if (registration.type === 'refuse') return refusedReply(registration.description)
  if (contentLength !== undefined && contentLength > MAX_REGISTRATION_BYTES)
    return errorReply(
      413,
      ['invalid_client_metadata', 'the registration is larger than 64 KiB'],
      'gatehouse_registration_size',
    )
  return (body, signal, deps) =>
    registrationReply(registration, { route, body, hops }, signal, deps)
}

// Writes refusals of OAuth documents, and the answers of relays and of client registration, to the decision log.

/** Answers that are logged if they deny nothing. */
const LOGGED = /^gatehouse_(relay|registration)/

/**
 * Logs only what is read from the request's head and the kind of the answer: no code, token, cookie or client name.
 * traceparent: what Envoy sent with its own call.
 */
function logAnswer(
  log: DecisionLog,
  entry: WellKnownEntry,
  { headers }: HeadersPart,
  reply: Reply,
  traceparent?: string,
): void {
  const { route, relay, paths } = entry
  const { status } = reply
  const isDenied = reasonIn(reply) !== undefined
  if (!isDenied && !LOGGED.test(reply.details)) return
  const reason = kindOf(reply)
  const error = isDenied ? errorOf(reply) : undefined
  const fields = (): object => {
    const request = loggedRequest(headers)
    const { mcpPath } = paths
    const endpoint =
      (relay && relayEndpointAt(mcpPath, request.pathAndQuery)) ??
      oauthDocumentAt(mcpPath, request.pathAndQuery)
    return {
      decision: isDenied ? 'deny' : 'allow',
      reason,
      status,
      ...(error !== undefined && { error }),
      ...(endpoint !== undefined && { endpoint }),
      route,
      ...entry.policy,
      ...requestFields(request, hider(request), traceparent),
    }
  }
  if (!isDenied) return log.allowed(MESSAGE, fields)
  const key = { decision: 'deny', reason, status, error, route }
  log.refused({ message: MESSAGE, key, fields })
}

const MESSAGE = 'login answer'

const ERROR_CODE = /^[a-z_]{1,64}$/

/** Returns the OAuth error code of a body or of a redirect; undefined: it has none. */
function errorOf({ headers, body }: Reply): string | undefined {
  const { location } = headers
  const error =
    location === undefined
      ? /"error" ?: ?"([a-z_]{1,64})"/.exec(Buffer.from(body).toString('latin1', 0, MAX_READ))?.[1]
      : new URL(location).searchParams.get('error')
  return typeof error === 'string' && ERROR_CODE.test(error) ? error : undefined
}

/** Characters of a body in which the error code is looked for. */
const MAX_READ = 4096

// Answers a request for one of the metadata documents (decisions 9, 10 and 13).

const RETRY_AFTER_SECONDS = '5'

/** Returns a metadata document. */
function metadataReply(
  document: 'resource-metadata' | 'server-metadata',
  entry: WellKnownEntry,
  request: RequestView,
): Reply {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return errorReply(
      405,
      ['invalid_request', 'metadata is read with GET'],
      'gatehouse_metadata_method',
      { allow: 'GET, HEAD' },
    )
  const base = baseUrl(entry.paths, request.address)
  if (base === undefined)
    return errorReply(
      400,
      ['invalid_request', 'the host of the request cannot be published'],
      'gatehouse_metadata_host',
    )
  const body = documentOf(document, entry, base)
  if (body === undefined)
    return errorReply(
      503,
      ['temporarily_unavailable', 'the identity provider has not been reached yet'],
      'gatehouse_metadata_unavailable',
      { 'retry-after': RETRY_AFTER_SECONDS },
    )
  // HEAD gets a body too: Envoy removes it, but without one it would also leave out content-type.
  return jsonReply(200, body, 'gatehouse_metadata', {
    'cache-control': 'no-cache',
    ...(entry.paths.origin === undefined ? { vary: 'x-forwarded-proto' } : {}),
  })
}

const documentOf = (
  document: 'resource-metadata' | 'server-metadata',
  entry: WellKnownEntry,
  base: string,
): JsonObject | undefined =>
  document === 'resource-metadata'
    ? buildResourceMetadata(entry.resourceMetadata, entry.paths, base, entry.authorizationServer)
    : entry.relay === undefined
      ? buildServerMetadata(entry.serverMetadata, entry.paths, base)
      : buildRelayMetadata(entry.relay, entry.paths, base)
