// Decides what becomes of a guarded reply (decisions 15-19).

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { Ending } from '../../kit/ending.js'
import { inTurns, type Work } from '../../kit/turns.js'
import { decodeUtf8InTurns, encodeUtf8InTurns } from '../../kit/utf8.js'
import { isReadable, UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import { apiOfPath } from '../llm/detect-api.js'
import { isExcess } from '../llm/excess.js'
import { readReply, readWords } from '../llm/read-body.js'
import type { Conversation } from '../llm/text/conversation.js'
import { usageOf } from '../llm/text/usage.js'
import { BUSY } from '../session/held-bytes.js'
import type { Headers } from '../session/process-message.js'
import { type Guard, inspectsOf } from '../webhook/compiled-guard.js'
import { replyAttributes } from '../webhook/gen-ai-attributes.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { countTokens } from '../webhook/token-usage.js'
import { withDecoded } from './decoded-body.js'
import { looksLikeJson } from './error-body.js'
import { busy, refusal } from './guard-reply.js'
import { requestPath } from './inspect-request.js'
import { type Aborted, inspectConversation, type Refused, refused } from './inspection.js'
import { meanwhile } from './meanwhile.js'

/** A reply that passes: without having been read, as it is, or with changes. */
export type PassedReply =
  { readonly type: 'unread' | 'same' } | { readonly type: 'changed'; readonly body: Uint8Array }

/** What becomes of the reply: it passes, or is replaced by Gatehouse's own answer. */
export type ReplyFinding = PassedReply | Refused | Aborted

/** The exchange that a reply belongs to. */
export interface ReplyContext {
  readonly guard: Guard
  readonly headers: Headers
  readonly attributes: Attributes
  /** Whether the request had a body; if so, its reply must be an LLM's. */
  readonly hadBody: boolean
  readonly signal: Ending
}

/** Shows the texts of a complete reply to the webhooks and applies their verdict. */
export async function inspectReply(
  bytes: Uint8Array,
  context: ReplyContext,
  deps: GuardDeps,
): Promise<ReplyFinding> {
  const encoding = encodingOf(context.headers)
  if (encoding === '') return inspectDecoded(bytes, bytes, context, deps)
  const { maxBodyBytes, heldBytes } = deps
  const { signal, attributes } = context
  return withDecoded({ bytes, encoding, maxBodyBytes, heldBytes, signal }, (decoded) => {
    if (decoded.type === 'aborted') return { type: 'aborted' }
    if (decoded.type === 'busy') return busyReply(attributes)
    const body = decoded.type === 'decoded' ? decoded.body : undefined
    return inspectDecoded(bytes, body, context, deps)
  })
}

/** body: bytes, decoded; undefined: they cannot be. */
async function inspectDecoded(
  bytes: Uint8Array,
  body: Uint8Array | undefined,
  { guard, headers, attributes, hadBody, signal }: ReplyContext,
  deps: GuardDeps,
): Promise<ReplyFinding> {
  const unread = (problem: string): ReplyFinding =>
    passesUnread(guard, problem, deps) ? { type: 'unread' } : unreadableReply(problem, attributes)
  if (body === undefined) return unread(UNREADABLE_ENCODING)
  // A compressed body is sent on decompressed: the client's decoder might read something else in the same bytes.
  const asRead: ReplyFinding = body === bytes ? { type: 'same' } : { type: 'changed', body }
  const isError = !isSuccess(headers)
  const isJson = !isError || (await inTurns(isToBeJson(body), signal))
  if (isJson === undefined) return { type: 'aborted' }
  const path = requestPath(attributes)
  const kind = isError ? 'error' : hadBody ? 'model' : 'any'
  const reading = inTurns(
    isJson ? readReply(body, kind, path, inspectsOf(guard.response)) : readWords(body, path),
    signal,
  )
  const read = reading instanceof Promise ? await reading : reading
  if (read === undefined) return { type: 'aborted' }
  if (!read.ok) return unread(read.error)
  const conversation = read.value
  // Clients could read events behind words.
  const isUnread = !isJson && isEventStream(headers) && conversation.entries.length > 0
  if (isUnread) return unread('it is not a stream of events')
  const note = (): void => noteUsage(conversation, guard, deps)
  // Embeddings and lists of models have nothing to ask about.
  if (conversation.entries.length === 0) {
    note()
    return asRead
  }
  const { route, response: webhooks, refusesSigned = false } = guard
  const asking = inspectConversation(
    { route, phase: 'response', webhooks, conversation, refusesSigned, attributes, signal },
    deps,
  )
  const inspected = await meanwhile(asking, note)
  if (inspected.type !== 'passed') return inspected
  if (inspected.text === conversation.json.text) return asRead
  const changed = await inTurns(encodeUtf8InTurns(inspected.text), signal)
  return changed === undefined ? { type: 'aborted' } : { type: 'changed', body: changed }
}

function noteUsage({ api, json }: Conversation, guard: Guard, deps: GuardDeps): void {
  const usage = usageOf(json)
  countTokens(deps, guard, usage)
  deps.span?.set(replyAttributes(api, usage))
}

/** Whether the body of an error is read as JSON, and not as words. */
function* isToBeJson(body: Uint8Array): Work<boolean> {
  const text = yield* decodeUtf8InTurns(body)
  return text === undefined || (yield* looksLikeJson(text))
}

/** Why a reply beyond --max-body-bytes is not read. */
export const TOO_LARGE = 'it is larger than the guardrail may read'

/**
 * Whether an unreadable reply passes unchanged: only if all webhooks fail open, as none is asked, and no client can have
 * brought it about.
 */
export function passesUnread(
  { route, response }: Guard,
  problem: string,
  deps: GuardDeps,
): boolean {
  if (isExcess(problem)) return false
  if (response.some(({ webhook }) => webhook.failureMode === 'FailClosed')) return false
  deps.logger.warn({ route, problem }, 'reply passed unread: its guards fail open')
  return true
}

/** attributes: those of the request, whose path identifies the client's API. */
export function unreadableReply(problem: string, attributes: Attributes): Refused {
  const api = apiOfPath(requestPath(attributes)) ?? 'openai-chat'
  const message = `The guardrail cannot read the reply: ${problem}.`
  return refused(refusal(api, 503, message, 'guardrail_unreadable'), problem)
}

/** Returns the reply when the budget of held bytes is used up. */
export const busyReply = (attributes: Attributes): Refused =>
  refused(busy(apiOfPath(requestPath(attributes)) ?? 'openai-chat'), BUSY)

/** Whether the status is 2xx. */
export const isSuccess = (headers: Headers): boolean =>
  /^2\d\d$/.test(headers.get(':status')?.[0] ?? '')

/** Whether the content type is that of server-sent events. */
export const isEventStream = (headers: Headers): boolean =>
  (headers.get('content-type') ?? []).some((type) => /event-stream/i.test(type))

/** Whether the content type is that of lines of JSON. */
export const isOfLines = (headers: Headers): boolean =>
  (headers.get('content-type') ?? []).some((type) => /ndjson/i.test(type))

/** Returns the encodings in the order in which they were applied. */
export const encodingOf = (headers: Headers): string =>
  (headers.get('content-encoding') ?? []).join(',')

/** Returns why a reply with these headers cannot be guarded; undefined: the headers show no reason. */
export function problemOfReply(headers: Headers): string | undefined {
  if (headers.get(':status')?.[0] === '206') return 'it is a part of a reply'
  const types = headers.get('content-type') ?? []
  if (types.some((type) => /jsonl|json-seq/i.test(type)))
    return 'it is a stream of a kind that cannot be read'
  return (isEventStream(headers) || isOfLines(headers)) && !isReadable(encodingOf(headers))
    ? UNREADABLE_ENCODING
    : undefined
}

/** Returns the announced length in bytes; 0: not announced. */
export const lengthOfReply = (headers: Headers): number =>
  Number(headers.get('content-length')?.[0] ?? 0)
