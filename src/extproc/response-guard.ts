// The response phase of a guarded route: a 2xx reply is held until the webhooks have seen what it says (decisions 15-19).
// A refusal is answered by headers and body, so that CORS headers come with it.

import type {
  HttpBody,
  HttpHeaders,
} from '../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { rewrite } from '../llm/conversation.js'
import { isHarmless, readReply } from '../llm/read-body.js'
import { askWebhooks, type GuardDeps } from './ask-webhooks.js'
import { decodeReply } from './decode-reply.js'
import type { Guard } from './guard.js'
import {
  bodyMessages,
  headersMessage,
  trailersMessage,
  type HeaderChange,
} from './guard-messages.js'
import { refusal, rejectReply, UNAVAILABLE } from './guard-reply.js'
import { createHeldBody } from './held-body.js'
import type { Reply } from './immediate-response.js'
import { UnexpectedMessage, type ProcessorStream } from './processor.js'
import type { RequestGuard } from './request-guard.js'
import { headersOf } from './request-view.js'

export interface ResponseGuard {
  headers(message: HttpHeaders): Promise<void> | void
  body(message: HttpBody): Promise<void> | void
  trailers(): Promise<void> | void
  /** Nothing of the reply is owed any more. */
  isDone(): boolean
}

type State = 'start' | 'passing' | 'holding' | 'done' | 'refused'
type Headers = ReadonlyMap<string, readonly string[]>

/** What the reply may become: the bytes as they came, others, or an answer of ours. */
type Finding =
  | { readonly type: 'same' }
  | { readonly type: 'changed'; readonly body: Uint8Array }
  | { readonly type: 'refused'; readonly reply: Reply; readonly problem: string }
  | { readonly type: 'aborted' }

export function createResponseGuard(
  guard: Guard,
  request: Pick<RequestGuard, 'attributes' | 'hadBody'>,
  stream: ProcessorStream,
  deps: GuardDeps,
): ResponseGuard {
  let state: State = 'start'
  let headers: Headers = new Map()
  const held = createHeldBody(deps.maxBodyBytes)

  const send = (change: HeaderChange, body: Uint8Array, hasTrailers: boolean): void => {
    const length: Readonly<Record<string, string>> = hasTrailers
      ? {}
      : { 'content-length': String(body.length) }
    stream.send(headersMessage('response', { ...change, set: { ...change.set, ...length } }))
    for (const message of bodyMessages('response', body, !hasTrailers)) stream.send(message)
    if (hasTrailers) stream.send(trailersMessage('response'))
  }
  const refuse = (reply: Reply, problem: string, hasTrailers = false): void => {
    state = 'refused'
    deps.logger.info({ route: guard.route, status: reply.status, problem }, 'reply refused')
    const set = { ...reply.headers, ':status': String(reply.status) }
    send({ set, remove: namesToRemove(headers, set) }, reply.body, hasTrailers)
  }

  const inspected = async (bytes: Uint8Array): Promise<Finding> => {
    const encoding = (headers.get('content-encoding') ?? []).join(',').trim().toLowerCase()
    const body = await decodeReply(bytes, encoding, deps.maxBodyBytes)
    if (body === undefined) return unreadable('it is compressed in a way that cannot be read')
    const read = readReply(body)
    if (!read.ok)
      return !request.hadBody() && isHarmless(body) ? { type: 'same' } : unreadable(read.error)
    const conversation = read.value
    const decision = await askWebhooks(
      {
        route: guard.route,
        phase: 'response',
        webhooks: guard.response,
        conversation,
        attributes: request.attributes(),
        signal: stream.signal,
      },
      deps,
    )
    switch (decision.type) {
      case 'pass': {
        const text = rewrite(conversation, decision.contents)
        return text === conversation.json.text
          ? { type: 'same' }
          : { type: 'changed', body: Buffer.from(text) }
      }
      case 'reject':
        return {
          type: 'refused',
          reply: rejectReply(decision.status, decision.text),
          problem: 'rejected by a webhook',
        }
      case 'unavailable':
        return { type: 'refused', reply: UNAVAILABLE, problem: 'a webhook is unavailable' }
      case 'aborted':
        return decision
    }
  }

  const finish = async (hasTrailers: boolean): Promise<void> => {
    const bytes = held.take()
    const finding: Finding = bytes.length === 0 ? { type: 'same' } : await inspected(bytes)
    switch (finding.type) {
      case 'same':
        state = 'done'
        return send({}, bytes, hasTrailers)
      case 'changed':
        state = 'done'
        return send({ remove: OF_THE_BYTES }, finding.body, hasTrailers)
      case 'refused':
        return refuse(finding.reply, finding.problem, hasTrailers)
      case 'aborted':
        return
    }
  }

  return {
    headers: (message) => {
      if (state !== 'start') throw new UnexpectedMessage(`response headers when ${state}`)
      headers = headersOf(message)
      const isGuarded = guard.response.length > 0 && isSuccess(headers) && !message.endOfStream
      if (!isGuarded) {
        state = message.endOfStream ? 'done' : 'passing'
        return stream.send(headersMessage('response'))
      }
      state = 'holding'
      const problem = problemOf(headers, deps.maxBodyBytes)
      if (problem !== undefined) refuse(unreadable(problem).reply, problem)
    },
    body: (message) => {
      if (state === 'refused') return
      if (state === 'passing') {
        for (const piece of bodyMessages('response', message.body, message.endOfStream))
          stream.send(piece)
        if (message.endOfStream) state = 'done'
        return
      }
      if (state !== 'holding') throw new UnexpectedMessage(`response body when ${state}`)
      if (!held.add(message.body)) return refuse(unreadable(TOO_LARGE).reply, TOO_LARGE)
      return message.endOfStream ? finish(false) : undefined
    },
    trailers: () => {
      if (state === 'refused') return undefined
      if (state === 'holding') return finish(true)
      if (state !== 'passing') throw new UnexpectedMessage(`response trailers when ${state}`)
      state = 'done'
      return stream.send(trailersMessage('response'))
    },
    isDone: () => state === 'done' || state === 'refused',
  }
}

const TOO_LARGE = 'it is larger than the guardrail may read'

/** Headers that describe the very bytes of a body. */
const OF_THE_BYTES = [
  'content-encoding',
  'etag',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
] as const

const unreadable = (problem: string) =>
  ({
    type: 'refused',
    reply: refusal(503, `The guardrail cannot read the reply: ${problem}.`, 'guardrail_unreadable'),
    problem,
  }) as const

const isSuccess = (headers: Headers): boolean => /^2\d\d$/.test(headers.get(':status')?.[0] ?? '')

function problemOf(headers: Headers, maxBytes: number): string | undefined {
  if (headers.get(':status')?.[0] === '206') return 'it is a part of a reply'
  const types = headers.get('content-type') ?? []
  if (types.some((type) => /event-stream|ndjson|jsonl|json-seq/i.test(type)))
    return 'it is a stream, and streamed replies are not guarded yet'
  return Number(headers.get('content-length')?.[0] ?? 0) > maxBytes ? TOO_LARGE : undefined
}

/** A refusal replaces the LLM's reply with its headers; what filters put there for the client stays. */
const namesToRemove = (
  headers: Headers,
  set: Readonly<Record<string, string>>,
): readonly string[] =>
  [...headers.keys()].filter(
    (name) => !/^(?::|access-control-|vary$|date$|x-request-id$)/.test(name) && !(name in set),
  )
