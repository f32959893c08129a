// Reads the conversation that webhooks see from a body, by its form (decision 18). An unknown form is an error, never a
// conversation without texts.

import { ILL_FORMED, type JsonText, readJson, readJsonInTurns } from '../../kit/json/json-text.js'
import { asObject, type JsonObjectNode } from '../../kit/json/members.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import { err, ok, type Result } from '../../kit/result.js'
import type { Soon, Work } from '../../kit/turns.js'
import { plainReply, plainRequest } from './apis/plain-chat.js'
import { readAnything, readMarked } from './apis/replies.js'
import { isMarked, markOf } from './apis/reply-mark.js'
import { readMembers } from './apis/requests.js'
import { apiOfPath, apiOfRequest, familyOfRequest } from './detect-api.js'
import type { LlmApi } from './text/api.js'
import type { Companion } from './text/companions.js'
import type { Conversation, Entry } from './text/conversation.js'
import { type Inspects, INSPECTS_NEITHER, type Source, sourceOf } from './text/found-text.js'
import { LOG_PROBABILITIES } from './text/tokens.js'
import { wordsIn } from './text/words.js'

/** A body's API, its entries and their companions. */
type EventTexts = readonly [LlmApi, readonly Entry[], (readonly Companion[])?]

/** path: the request's, with its query. */
interface RequestTold {
  readonly path: string
  readonly inspects: Inspects
}

/** path: the request's, with its query. The error is a sentence without any text of the body. */
export const readRequest = (
  body: Uint8Array,
  path = '',
  inspects = INSPECTS_NEITHER,
): Work<Result<Conversation, string>> => read(body, requestTexts, { path, inspects })

function requestTexts(json: JsonText, { path, inspects }: RequestTold): Soon<EventTexts> {
  const { root, text } = json
  if (!json.isWellFormed) throw new UnreadableForm(ILL_FORMED)
  const members = asObject(root, 'the body')
  const plain = plainRequest(root)
  if (plain !== undefined) return [apiOfRequest(members, 'messages', path), plain]
  return readRequestMembers(members, path, sourceOf(text, inspects, { isRequest: true }))
}

function* readRequestMembers(
  members: JsonObjectNode,
  path: string,
  source: Source,
): Work<EventTexts> {
  const family = familyOfRequest(members, path)
  const entries = yield* readMembers(members, family, source)
  return [apiOfRequest(members, family, path), entries, source.companions]
}

/**
 * model: a model's reply, in a known form. any: the reply to a request without a body, in any form. error: a reply with
 * an error status, likewise, which has no known form even where it quotes a model.
 */
export type ReplyKind = 'model' | 'any' | 'error'

interface ReplyTold extends RequestTold {
  readonly kind: ReplyKind
}

/** The entries are empty if nothing can hold text: a list of embeddings. path: the request's, with its query. */
export const readReply = (
  body: Uint8Array,
  kind: ReplyKind = 'model',
  path = '',
  inspects = INSPECTS_NEITHER,
): Work<Result<Conversation, string>> => read(body, replyTexts, { kind, path, inspects })

function replyTexts(json: JsonText, told: ReplyTold): Soon<EventTexts> {
  const plain = told.kind === 'error' ? undefined : plainReply(json.root)
  return plain === undefined ? readOtherReply(json, told) : ['openai-chat', plain]
}

function* readOtherReply(json: JsonText, told: ReplyTold): Work<EventTexts> {
  const { kind, inspects } = told
  if (kind === 'error' || isCount(json)) return yield* readOther(json, told)
  try {
    return yield* readModelReply(json, inspects)
  } catch (error) {
    if (kind === 'any' && error instanceof UnreadableForm) return yield* readOther(json, told)
    throw error
  }
}

/** Reads a body that is not JSON as one text. path: the request's, with its query. */
export function* readWords(body: Uint8Array, path = ''): Work<Result<Conversation, string>> {
  const words = yield* wordsIn(body)
  return words === undefined
    ? err('not UTF-8')
    : ok({ api: apiOfPath(path) ?? 'openai-chat', ...words })
}

/** Whether it counts the tokens of a prompt, as every API can; anything beside the number is shown. */
const isCount = ({ root }: JsonText): boolean =>
  root.type === 'object' &&
  ['input_tokens', 'totalTokens'].some((name) => root.members.get(name)?.type === 'number') &&
  !isMarked(root)

function* readOther({ root, text }: JsonText, { path, inspects }: RequestTold): Work<EventTexts> {
  const source = sourceOf(text, inspects)
  return [apiOfPath(path) ?? 'openai-chat', yield* readAnything(root, source)]
}

function* readModelReply({ root, text }: JsonText, inspects: Inspects): Work<EventTexts> {
  const members = asObject(root, 'the body')
  const source = sourceOf(text, inspects)
  const [api, entries] = yield* readMarked(markOf(members), members, source)
  return [api, entries, source.companions]
}

/** Bodies of at most this many bytes are read without a pause. */
const SHORT = 16 * 1024

/** reader: of the whole body; not a generator of its own for each body, which V8 cannot keep fast. */
function* read<Told>(
  body: Uint8Array,
  reader: (json: JsonText, told: Told) => Soon<EventTexts>,
  told: Told,
): Work<Result<Conversation, string>> {
  const json =
    body.length <= SHORT
      ? readJson(body)
      : yield* readJsonInTurns(body, { outlined: LOG_PROBABILITIES })
  if (!json.ok) return json
  try {
    const found = reader(json.value, told)
    const [api, entries, companions = []] = 'next' in found ? yield* found : found
    return ok({ api, json: json.value, entries, ...(companions.length > 0 && { companions }) })
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
}
