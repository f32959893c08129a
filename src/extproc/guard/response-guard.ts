// The response phase of a guarded route: a 2xx reply is held until the webhooks have seen what it says, a streamed one
// as it comes (decisions 15-20).

import type {
  HttpBody,
  HttpHeaders,
} from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { identity, type Decoder } from '../encodings/decoder.js'
import { headersMessage } from '../stream/guard-messages.js'
import type { ProcessorStream } from '../stream/processor.js'
import { headersOf } from '../stream/request-view.js'
import { beginsArray, jsonArray, type Framing } from '../streamed/framing.js'
import { createStreamedPhase, type StreamedPhase } from '../streamed/streamed-phase.js'
import type { GuardDeps } from '../webhook/ask-webhooks.js'
import type { Guard } from '../webhook/compiled-guard.js'
import { createGuardedPhase } from './guarded-phase.js'
import type { HeldBody } from './held-body.js'
import {
  busyReply,
  inspectReply,
  isSuccess,
  TOO_LARGE,
  unreadableReply,
  type Headers,
  type ReplyFinding,
} from './inspect-reply.js'
import { requestPath } from './inspect-request.js'
import type { Refused } from './inspection.js'
import { OF_THE_BYTES, sendInstead, sendReply } from './reply-output.js'
import { replyPlan } from './reply-plan.js'
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
  request: Pick<RequestGuard, 'attributes' | 'hadBody' | 'wasSeen'>,
  stream: ProcessorStream,
  deps: GuardDeps,
): ResponseGuard {
  let headers: Headers = new Map()
  let streamed: StreamedPhase | undefined
  let mayBeArray = false

  const refuse = (refused: Refused, hasTrailers = false): void => {
    phase.become('refused')
    deps.logRefusal(guard.route, 'response', refused)
    sendInstead(stream, refused.reply, headers, hasTrailers)
  }
  const refuseUnread = (problem: string): void =>
    refuse(unreadableReply(problem, request.attributes()))
  const phase = createGuardedPhase('response', stream, deps, {
    tooLarge: () => refuseUnread(TOO_LARGE),
    busy: () => refuse(busyReply(request.attributes())),
    complete: async (held: HeldBody, hasTrailers: boolean): Promise<void> => {
      const bytes = held.take()
      const context = { guard, headers, attributes: request.attributes(), signal: stream.signal }
      const finding: ReplyFinding =
        bytes.length === 0
          ? { type: 'same' }
          : await inspectReply(bytes, { ...context, hadBody: request.hadBody() }, deps)
      if (finding.type === 'aborted') return
      if (finding.type === 'refused') return refuse(finding, hasTrailers)
      phase.become('done')
      if (finding.type === 'same') sendReply(stream, {}, bytes, hasTrailers)
      else sendReply(stream, { remove: OF_THE_BYTES }, finding.body, hasTrailers)
    },
  })
  const startStream = (framing: Framing, decoder: Decoder): void => {
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
  /** A filter before ours has answered, with our 401 for instance: the request has never left. */
  const isOfTheGateway = (): boolean => !request.wasSeen() && !isSuccess(headers)
  const begin = (message: HttpHeaders): void => {
    const path = requestPath(request.attributes())
    const plan =
      message.endOfStream || isOfTheGateway()
        ? ({ type: 'pass' } as const)
        : replyPlan(guard, headers, path, deps)
    phase.become(plan.type !== 'pass' ? 'holding' : message.endOfStream ? 'done' : 'passing')
    if (plan.type === 'pass') stream.send(headersMessage('response'))
    else if (plan.type === 'refuse') refuseUnread(plan.problem)
    else if (plan.type === 'stream') startStream(plan.framing, plan.decoder)
    else mayBeArray = plan.mayBeArray
  }
  return {
    headers: (message) => {
      phase.expectHeaders()
      headers = headersOf(message)
      begin(message)
    },
    body: (message) => {
      lookForArray(message.body)
      return (streamed ?? phase).body(message)
    },
    trailers: () => (streamed ?? phase).trailers(),
    isDone: () => streamed?.isDone() ?? (phase.state === 'done' || phase.state === 'refused'),
  }
}
