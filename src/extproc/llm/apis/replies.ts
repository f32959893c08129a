// Reads whole replies of every API, and other JSON that servers answer: first the model's words, then the other members
// in the order of the body (decision 19).

import type { JsonNode } from '../../../kit/json/json-node.js'
import { asArray, asObject, type JsonObjectNode, member } from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import type { Work } from '../../../kit/turns.js'
import type { LlmApi } from '../text/api.js'
import type { Entry } from '../text/conversation.js'
import type { At, Source } from '../text/found-text.js'
import { entriesOf } from '../text/message.js'
import { readContent } from './anthropic.js'
import { anythingIn, besideIn, IN_REPLY, IN_RESPONSE } from './beside.js'
import { BESIDE_ENTRIES, readOutputs } from './entries.js'
import { readCandidates } from './gemini.js'
import { IN_IMAGES, isImages } from './images.js'
import { readConverse, readMessageReply, readTextReply } from './message-replies.js'
import { readChoices } from './messages.js'
import { IN_MODERATION } from './moderations.js'
import type { ReplyMark } from './reply-mark.js'
import { readItems } from './responses-items.js'
import { THREADS } from './threads.js'

const saidBy = (json: Source): At => ({ json, role: 'assistant', toolRole: 'assistant' })

/** Reads a reply of a known API. mark: what it is marked by. */
export function* readMarked(
  mark: ReplyMark | undefined,
  body: JsonObjectNode,
  json: Source,
): Work<readonly [LlmApi, readonly Entry[]]> {
  const node = (mark && member(body, mark)) ?? body
  switch (mark) {
    case 'converse':
      return ['bedrock-converse', yield* readConverse(body, json)]
    case 'message':
      return [body.members.has('done') ? 'ollama' : 'cohere', yield* readMessageReply(body, json)]
    case 'thread':
      return ['openai-threads', yield* rest(body, json, [], THREADS)]
    case 'outputs':
    case 'steps':
      return [
        body.members.has('conversation_id') ? 'mistral-conversations' : 'gemini-interactions',
        [...(yield* readOutputs(node, json)), ...(yield* rest(body, json, [mark], BESIDE_ENTRIES))],
      ]
    case 'response':
      return ['ollama', yield* readTextReply(body, json)]
    case 'embeddings':
    case 'embedding':
      return ['openai-embeddings', yield* readVectors(node, json, yield* rest(body, json, [mark]))]
    case 'choices':
      return [
        apiOfChoices(node),
        [...(yield* readChoices(node, json)), ...(yield* rest(body, json, [mark]))],
      ]
    case 'content':
      return [
        'anthropic-messages',
        [...(yield* readContent(body, json)), ...(yield* rest(body, json, [mark, 'role']))],
      ]
    case 'output':
      return [
        'openai-responses',
        yield* readOutput(node, json, yield* rest(body, json, [mark], IN_RESPONSE)),
      ]
    case 'candidates':
      return [
        'gemini',
        [...(yield* readCandidates(node, json)), ...(yield* rest(body, json, [mark]))],
      ]
    case 'promptFeedback':
    case 'prompt_feedback':
      return ['gemini', yield* rest(body, json)]
    case 'data':
      return isImages(node)
        ? ['openai-images', yield* rest(body, json, [], IN_IMAGES)]
        : [
            'openai-embeddings',
            yield* readVectors(ofObjects(node), json, yield* rest(body, json, [mark])),
          ]
    case 'results':
      return ['openai-moderations', yield* rest(body, json, [], IN_MODERATION)]
    default:
      throw new UnreadableForm('it is of no form that is known')
  }
}

/** Reads what surrounds the model's words. read: members that are read separately. */
function* rest(
  body: JsonObjectNode,
  json: Source,
  read: readonly string[] = [],
  form = IN_REPLY,
): Work<readonly Entry[]> {
  return yield* entriesOf(json, yield* besideIn(body, saidBy(json), read, form))
}

function apiOfChoices(node: JsonNode): LlmApi {
  const choices = asArray(node, 'choices').items.map((item) => asObject(item, 'a choice'))
  const has = (name: string): boolean =>
    choices.some((choice) => member(choice, name) !== undefined)
  if (!has('text')) return 'openai-chat'
  if (has('message')) throw new UnreadableForm('a choice has message and text')
  return 'openai-completions'
}

/** Reads the whole output as one message. */
function* readOutput(node: JsonNode, json: Source, rest: readonly Entry[]): Work<readonly Entry[]> {
  const entries = [...(yield* readItems(node, 'output', saidBy(json))), ...rest]
  const texts = entries.filter(({ kind }) => kind === 'text')
  const none: readonly Entry[] = [{ kind: 'text', role: 'assistant', content: '' }]
  return [...(texts.length === 0 ? none : texts), ...entries.filter(({ kind }) => kind !== 'text')]
}

/** Reads a list of vectors, which has no entries; text beside them would be of another API. */
function* readVectors(
  node: JsonNode,
  json: Source,
  rest: readonly Entry[],
): Work<readonly Entry[]> {
  if (rest.length > 0 || (yield* anythingIn(node, saidBy(json), 'data')).length > 0)
    throw new UnreadableForm('its data is neither of embeddings nor of images')
  return []
}

function ofObjects(node: JsonNode): JsonNode {
  for (const item of asArray(node, 'data').items) asObject(item, 'an embedding')
  return node
}

/** Reads any other JSON: errors, lists of models, stored objects. */
export function* readAnything(node: JsonNode, json: Source): Work<readonly Entry[]> {
  return yield* entriesOf(json, yield* anythingIn(node, saidBy(json)))
}
