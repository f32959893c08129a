// Holds the body of an MCP message until it is whole, in front of the check that needs it: within a time, and within the
// budget of all bodies, which Envoy has not.

import type { UncheckedBodyEntry } from '../../ir/proc-entry.js'
import { createGuardedPhase } from '../guard/guarded-phase.js'
import type { HeldBody } from '../guard/held-body.js'
import { startBodyClock } from '../stream/body-clock.js'
import { expectFullDuplex } from '../stream/full-duplex.js'
import { sendHeaders } from '../stream/guard-messages.js'
import {
  errorReply,
  immediateResponse,
  type Reply,
  withRequestId,
} from '../stream/immediate-response.js'
import { loggedRequest } from '../stream/logged-request.js'
import type { Headers } from '../stream/process-message.js'
import { type Processor, type ProcessorStream, UnexpectedMessage } from '../stream/processor.js'
import { sendWhole } from '../stream/whole-body.js'
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
    const length = hasTrailers ? {} : { set: { 'content-length': String(held.size) } }
    sendHeaders(stream.send, 'request', length)
    await sendWhole(stream, 'request', held.take(), hasTrailers)
    phase.become('done')
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
        return sendHeaders(stream.send, 'request')
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
