// Holds the body of an MCP message until it is whole, in front of the check that needs it: within a time, and within the
// budget of all bodies, which Envoy has not.

import { inTurns } from '../../kit/turns.js'
import { joinInTurns } from '../../kit/utf8.js'
import type { UncheckedBodyEntry } from '../../model/proc-entry.js'
import { type EncodedBody, withDecoded } from '../guard/decoded-body.js'
import { createGuardedPhase } from '../guard/guarded-phase.js'
import type { HeldBody } from '../guard/held-body.js'
import { guardedRequest } from '../guard/request-attributes.js'
import { startBodyClock } from '../session/body-clock.js'
import { expectFullDuplex } from '../session/full-duplex.js'
import { sendHeaders } from '../session/guard-messages.js'
import {
  errorReply,
  immediateResponse,
  type Reply,
  withRequestId,
} from '../session/immediate-response.js'
import { loggedRequest } from '../session/logged-request.js'
import type { Headers } from '../session/process-message.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from '../session/processor.js'
import { OF_THE_BYTES } from '../session/reply-output.js'
import { sendWhole } from '../session/whole-body.js'
import type { GuardDeps } from '../webhook/guard-deps.js'

const REFUSED = {
  'body-timeout': errorReply(
    408,
    ['invalid_request', 'The body did not arrive in time'],
    'gatehouse_body-timeout',
  ),
  'body-too-large': errorReply(
    413,
    ['invalid_request', 'The body is larger than the gateway may read'],
    'gatehouse_body-too-large',
  ),
  'too-many-bodies': errorReply(
    503,
    ['temporarily_unavailable', 'The gateway holds as much as it may; try again'],
    'gatehouse_too-many-bodies',
    { 'retry-after': '1' },
  ),
} satisfies Readonly<Record<string, Reply>>

/** A body that is not passed on. */
export interface RefusedBody {
  readonly reason: keyof typeof REFUSED
  readonly status: number
  /** Headers of the request. */
  readonly headers: Headers
}

/** What bodies are held with. */
export interface UncheckedBodyDeps extends Pick<GuardDeps, 'heldBytes' | 'bodyTimeoutMs'> {
  onRefused(refused: RefusedBody): void
}

/** Creates the processor of a request whose body is checked afterwards. */
export function createUncheckedBody(
  { maxBodyBytes }: Pick<UncheckedBodyEntry, 'maxBodyBytes'>,
  stream: ProcessorStream,
  deps: UncheckedBodyDeps,
): Processor {
  let headers: Headers = new Map()
  let stopClock = (): void => undefined
  const refuse = (reason: keyof typeof REFUSED): void => {
    stopClock()
    phase.become('refused')
    const reply: Reply = REFUSED[reason]
    deps.onRefused({ reason, status: reply.status, headers })
    stream.send(immediateResponse(withRequestId(reply, loggedRequest(headers).headers)))
  }
  const complete = async (held: HeldBody, hasTrailers: boolean): Promise<void> => {
    stopClock()
    const encoding = guardedRequest(headers).encoding ?? ''
    const encoded = { encoding, maxBodyBytes, heldBytes: deps.heldBytes }
    const refused = await passOn(held.take(), encoded, stream, hasTrailers)
    if (refused !== undefined) refuse(refused)
    else phase.become('done')
  }
  const phase = createGuardedPhase(
    'request',
    stream,
    { maxBodyBytes, heldBytes: deps.heldBytes, isOnlyHeld: true },
    {
      tooLarge: () => refuse('body-too-large'),
      busy: () => refuse('too-many-bodies'),
      complete,
    },
  )
  const unexpected = (): never => {
    throw new UnexpectedMessage('a part that was not asked for')
  }
  return {
    requestHeaders: (message, { config }) => {
      phase.expectHeaders()
      headers = message.headers
      if (message.endOfStream) {
        phase.become('done')
        return sendHeaders(stream, 'request')
      }
      expectFullDuplex('request', config?.requestBodyMode)
      phase.become('holding')
      if (Number(headers.get('content-length')?.[0]) > maxBodyBytes) return refuse('body-too-large')
      stopClock = startBodyClock(deps.bodyTimeoutMs, stream.signal, () => refuse('body-timeout'))
    },
    requestBody: (message) => phase.body(message),
    requestTrailers: () => phase.trailers(),
    responseHeaders: unexpected,
    responseBody: unexpected,
    responseTrailers: unexpected,
    isDone: () => phase.state === 'done' || phase.state === 'refused',
  }
}

type Encoded = Pick<EncodedBody, 'encoding' | 'maxBodyBytes' | 'heldBytes'>

/**
 * Sends a body on, without its encoding. What cannot be decoded goes on as it is: the check refuses it. Resolves to why the
 * body is refused.
 */
async function passOn(
  parts: readonly Buffer[],
  encoded: Encoded,
  stream: ProcessorStream,
  hasTrailers: boolean,
): Promise<RefusedBody['reason'] | undefined> {
  if (encoded.encoding === '') return sendOn(parts, stream, hasTrailers)
  const { signal } = stream
  const bytes = await inTurns(joinInTurns(parts), signal)
  if (bytes === undefined) return undefined
  return withDecoded({ ...encoded, bytes, signal, heldForEach: 1 }, (decoded) => {
    switch (decoded.type) {
      case 'decoded':
        return sendOn([decoded.body], stream, hasTrailers, OF_THE_BYTES)
      case 'too large':
        return 'body-too-large'
      case 'busy':
        return 'too-many-bodies'
      case 'unreadable':
        return sendOn(parts, stream, hasTrailers)
      case 'aborted':
        return undefined
    }
  })
}

async function sendOn(
  parts: readonly Uint8Array[],
  stream: ProcessorStream,
  hasTrailers: boolean,
  remove: readonly string[] = [],
): Promise<undefined> {
  const size = parts.reduce((sum, { length }) => sum + length, 0)
  const length = hasTrailers ? {} : { set: { 'content-length': String(size) } }
  sendHeaders(stream, 'request', { ...length, remove })
  await sendWhole(stream, 'request', parts, hasTrailers)
}
