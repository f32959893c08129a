// Decides what becomes of the body of a guarded request (decisions 15-19).

import type { Attributes, MemberValue } from '../../extauthz/cel/attributes.js'
import { jsonNodeValue } from '../../extauthz/cel/json-node-value.js'
import type { Ending } from '../../kit/ending.js'
import type { JsonText } from '../../kit/json/json-text.js'
import { inTurns } from '../../kit/turns.js'
import { encodeUtf8InTurns, joinInTurns } from '../../kit/utf8.js'
import { asksForOneChoice } from '../llm/choices.js'
import { apiOfPath, problemOfReplyTo } from '../llm/detect-api.js'
import { readRequest } from '../llm/read-body.js'
import type { Conversation } from '../llm/text/conversation.js'
import { BUSY } from '../session/held-bytes.js'
import { type Guard, inspectsOf } from '../webhook/compiled-guard.js'
import { requestAttributes } from '../webhook/gen-ai-attributes.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { busy, refusal } from './guard-reply.js'
import type { HeldBody } from './held-body.js'
import { type Aborted, inspectConversation, type Refused, refused } from './inspection.js'
import { meanwhile } from './meanwhile.js'

/** The exchange that a request belongs to. */
export interface RequestContext {
  readonly guard: Guard
  /** Attributes without llmRequest. */
  readonly attributes: Attributes
  readonly signal: Ending
  /** Called with the body as it arrived, while webhooks are asked about it. */
  readonly onAsked?: (body: Uint8Array) => void
}

/** body: with the changes of the webhooks. headers: to be set; by lower-case name. isOneChoice: of an LLM's request. */
export type RequestFinding =
  | {
      readonly type: 'passed'
      readonly body: Uint8Array
      readonly headers?: Readonly<Record<string, string>>
      readonly isOneChoice?: boolean
    }
  | Refused
  | Aborted

/** Shows the texts of a complete request to the webhooks and applies their verdict. */
export async function inspectRequest(
  body: Pick<HeldBody, 'take'>,
  { guard, attributes, signal, onAsked = () => undefined }: RequestContext,
  deps: GuardDeps,
): Promise<RequestFinding> {
  const path = requestPath(attributes)
  const joining = inTurns(joinInTurns(body.take()), signal)
  const bytes = joining instanceof Promise ? await joining : joining
  if (bytes === undefined) return { type: 'aborted' }
  const reading = inTurns(readRequest(bytes, path, inspectsOf(guard.request)), signal)
  const read = reading instanceof Promise ? await reading : reading
  if (read === undefined) return { type: 'aborted' }
  if (!read.ok) return unreadableRequest(read.error, path)
  const conversation = read.value
  const unanswerable = unreadableAnswer(guard, conversation, path)
  if (unanswerable !== undefined) return unanswerable
  deps.span?.set(requestAttributes(conversation, path))
  const llmRequest = llmRequestValue(conversation.json)
  const asking = inspectConversation(
    {
      route: guard.route,
      phase: 'request',
      webhooks: guard.request,
      conversation,
      refusesSigned: guard.refusesSigned === true,
      attributes: { ...attributes, llmRequest },
      signal,
    },
    deps,
  )
  const inspected = await meanwhile(asking, () => onAsked(bytes))
  if (inspected.type !== 'passed') return inspected
  const isOneChoice = asksForOneChoice(conversation.json)
  if (inspected.text === conversation.json.text) return { type: 'passed', body: bytes, isOneChoice }
  const changed = await inTurns(encodeUtf8InTurns(inspected.text), signal)
  return changed === undefined
    ? { type: 'aborted' }
    : { type: 'passed', body: changed, isOneChoice }
}

/**
 * Returns the refusal of a request whose reply could not be read and would be refused, after the model was paid for it.
 * undefined: the reply can be read, or passes unread.
 */
export function unreadableAnswer(
  { response }: Pick<Guard, 'response'>,
  { api, json }: Conversation,
  path: string,
): Refused | undefined {
  if (!response.some(({ webhook }) => webhook.failureMode === 'FailClosed')) return undefined
  const problem = problemOfReplyTo(json.root, path)
  if (problem === undefined) return undefined
  const message = `The guardrail could not read the reply: ${problem}.`
  return refused(refusal(api, 400, message, 'guardrail_unreadable'), problem)
}

/** path: the request's path, which identifies the client's API; likewise below. */
export const unreadableRequest = (problem: string, path: string): Refused =>
  refused(
    refusal(
      apiOfPath(path) ?? 'openai-chat',
      400,
      `The guardrail cannot read the body: ${problem}.`,
      'guardrail_unreadable',
    ),
    problem,
  )

/** Returns the reply to a request beyond --max-body-bytes. */
export const requestTooLarge = (path: string): Refused =>
  refused(
    refusal(
      apiOfPath(path) ?? 'openai-chat',
      413,
      'The body is larger than the guardrail may read.',
      'guardrail_too_large',
    ),
    'the body is too large',
  )

/** Returns the reply to a request whose body does not arrive within --body-timeout. */
export const requestTooSlow = (path: string): Refused =>
  refused(
    refusal(
      apiOfPath(path) ?? 'openai-chat',
      408,
      'The body did not come in time.',
      'guardrail_body_timeout',
    ),
    'the body did not come in time',
  )

/** Returns the reply when the budget of held bytes is used up. */
export const busyRequest = (path: string): Refused =>
  refused(busy(apiOfPath(path) ?? 'openai-chat'), BUSY)

/** Returns the path with the query. */
export const requestPath = ({ request }: Attributes): string => request?.pathAndQuery ?? ''

// Makes the body of a guarded request readable as llmRequest in expressions. Members are converted only when read.

/** Returns llmRequest for expressions. */
export const llmRequestValue = ({ text, root }: JsonText): MemberValue => ({
  celValue: () => jsonNodeValue(root, text),
  member(name) {
    const node = root.type === 'object' ? root.members.get(name) : undefined
    return node === undefined ? undefined : jsonNodeValue(node, text)
  },
})
