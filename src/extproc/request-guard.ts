// The request phase of a guarded route: the body is held until the webhooks have seen what it says. Nothing goes on
// before that, not even the headers (decisions 15-19).

import { lazyValue, type Attributes, type LazyValue } from '../cel/attributes.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import type {
  HttpBody,
  HttpHeaders,
} from '../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Json } from '../ir/json.js'
import { rewrite } from '../llm/conversation.js'
import { readRequest } from '../llm/read-body.js'
import { askWebhooks, type GuardDeps } from './ask-webhooks.js'
import type { Guard } from './guard.js'
import {
  bodyMessages,
  headersMessage,
  trailersMessage,
  type HeaderChange,
} from './guard-messages.js'
import { refusal, rejectReply, UNAVAILABLE } from './guard-reply.js'
import { createHeldBody } from './held-body.js'
import { immediateResponse, type Reply } from './immediate-response.js'
import { UnexpectedMessage, type FirstMessage, type ProcessorStream } from './processor.js'
import { guardedRequest } from './request-attributes.js'

export interface RequestGuard {
  headers(message: HttpHeaders, first: FirstMessage): Promise<void> | void
  body(message: HttpBody): Promise<void> | void
  trailers(): Promise<void> | void
  /** What expressions read in both phases; empty before the headers. */
  attributes(): Attributes
  /** The request had a body: its reply must be an LLM's. */
  hadBody(): boolean
  /** It was answered by us: no response will come. */
  isRefused(): boolean
}

type State = 'start' | 'passing' | 'holding' | 'done' | 'refused'

export function createRequestGuard(
  guard: Guard,
  stream: ProcessorStream,
  deps: GuardDeps,
): RequestGuard {
  let state: State = 'start'
  let attributes: Attributes = {}
  let hadBody = false
  const held = createHeldBody(deps.maxBodyBytes)
  // What is compressed cannot be read without more work, and a part of a reply not at all.
  const change: HeaderChange =
    guard.response.length === 0
      ? {}
      : { set: { 'accept-encoding': 'identity' }, remove: ['range', 'if-range'] }

  const refuse = (reply: Reply, problem: string): void => {
    state = 'refused'
    deps.logger.info({ route: guard.route, status: reply.status, problem }, 'request refused')
    stream.send(immediateResponse(reply))
  }
  const tooLarge = (): void =>
    refuse(
      refusal(413, 'The body is larger than the guardrail may read.', 'guardrail_too_large'),
      'the body is too large',
    )
  const unreadable = (problem: string): void =>
    refuse(
      refusal(400, `The guardrail cannot read the body: ${problem}.`, 'guardrail_unreadable'),
      problem,
    )
  const passHeaders = (length?: number): void =>
    stream.send(
      headersMessage('request', {
        ...change,
        ...(length === undefined
          ? {}
          : { set: { ...change.set, 'content-length': String(length) } }),
      }),
    )

  const finish = async (hasTrailers: boolean): Promise<void> => {
    const bytes = held.take()
    const body = bytes.length === 0 ? bytes : await inspected(bytes)
    if (body === undefined) return
    hadBody = bytes.length > 0
    state = 'done'
    passHeaders(hasTrailers ? undefined : body.length)
    for (const message of bodyMessages('request', body, !hasTrailers)) stream.send(message)
    if (hasTrailers) stream.send(trailersMessage('request'))
  }

  /** undefined: refused, or nobody waits any more. */
  const inspected = async (bytes: Uint8Array): Promise<Uint8Array | undefined> => {
    const read = readRequest(bytes)
    if (!read.ok) return void unreadable(read.error)
    const conversation = read.value
    if (conversation.isStreamed && guard.response.length > 0)
      return void unreadable(
        'it asks for an event stream, and streamed replies are not guarded yet',
      )
    const decision = await askWebhooks(
      {
        route: guard.route,
        phase: 'request',
        webhooks: guard.request,
        conversation,
        attributes: { ...attributes, llmRequest: lazyJson(conversation.json.text) },
        signal: stream.signal,
      },
      deps,
    )
    switch (decision.type) {
      case 'pass':
        return Buffer.from(rewrite(conversation, decision.contents))
      case 'reject':
        return void refuse(rejectReply(decision.status, decision.text), 'rejected by a webhook')
      case 'unavailable':
        return void refuse(UNAVAILABLE, 'a webhook is unavailable')
      case 'aborted':
        return undefined
    }
  }

  return {
    headers: (message, { config, metadata }) => {
      if (state !== 'start') throw new UnexpectedMessage(`request headers when ${state}`)
      const request = guardedRequest(message, metadata)
      attributes = request.attributes
      const isGuarded = guard.request.length > 0 && !message.endOfStream
      if (!isGuarded) {
        state = message.endOfStream ? 'done' : 'passing'
        return passHeaders()
      }
      // In any other mode the headers would go on before their body was seen.
      if (config?.requestBodyMode !== BodySendMode.FULL_DUPLEX_STREAMED)
        throw new UnexpectedMessage('request headers of a body that is not in full duplex')
      state = 'holding'
      if (request.problem !== undefined) unreadable(request.problem)
      else if ((request.contentLength ?? 0) > deps.maxBodyBytes) tooLarge()
    },
    body: (message) => {
      if (state === 'refused') return
      if (state === 'passing') {
        hadBody ||= message.body.length > 0
        for (const piece of bodyMessages('request', message.body, message.endOfStream))
          stream.send(piece)
        if (message.endOfStream) state = 'done'
        return
      }
      if (state !== 'holding') throw new UnexpectedMessage(`request body when ${state}`)
      if (!held.add(message.body)) return tooLarge()
      return message.endOfStream ? finish(false) : undefined
    },
    trailers: () => {
      if (state === 'refused') return undefined
      if (state === 'holding') return finish(true)
      if (state !== 'passing') throw new UnexpectedMessage(`request trailers when ${state}`)
      state = 'done'
      return stream.send(trailersMessage('request'))
    },
    attributes: () => attributes,
    hadBody: () => hadBody,
    isRefused: () => state === 'refused',
  }
}

/** Parsed when an expression first reads it. */
const lazyJson = (text: string): LazyValue => {
  const parsed = (): LazyValue => lazyValue(JSON.parse(text) as Json)
  return {
    get json() {
      return parsed().json
    },
    celValue: () => parsed().celValue(),
  }
}
