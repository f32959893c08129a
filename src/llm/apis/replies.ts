// Reads whole replies of every API, and other JSON that servers answer: first the model's words, then the other members
// in the order of the body (decision 19).

import type { JsonNode } from '../../json/json-node.js'
import { asArray, asObject, type JsonObjectNode, member } from '../../json/members.js'
import { UnreadableForm } from '../../json/unreadable-form.js'
import type { Work } from '../../turns.js'
import type { LlmApi } from '../text/api.js'
import type { Entry } from '../text/conversation.js'
import type { At, Source } from '../text/found-text.js'
import { entriesOf } from '../text/message.js'
import { readContent } from './anthropic.js'
import { anythingIn, besideIn, IN_REPLY, IN_RESPONSE } from './beside.js'
import { readCandidates } from './gemini.js'
import { readChoices } from './messages.js'
import { readItems } from './responses-items.js'

const saidBy = (json: Source): At => ({ json, role: 'assistant', toolRole: 'assistant' })

/** Reads a reply of a known API, by the member that marks it. */
export function* readMarked(
  mark: string,
  body: JsonObjectNode,
  json: Source,
): Work<readonly [LlmApi, readonly Entry[]]> {
  const node = member(body, mark) ?? body
  const read = mark === 'content' ? [mark, 'role'] : mark === 'promptFeedback' ? [] : [mark]
  const form = mark === 'output' ? IN_RESPONSE : IN_REPLY
  const rest = yield* entriesOf(json, yield* besideIn(body, saidBy(json), read, form))
  switch (mark) {
    case 'choices':
      return [apiOfChoices(node), [...(yield* readChoices(node, json)), ...rest]]
    case 'content':
      return ['anthropic-messages', [...(yield* readContent(body, json)), ...rest]]
    case 'output':
      return ['openai-responses', yield* readOutput(node, json, rest)]
    case 'candidates':
      return ['gemini', [...(yield* readCandidates(node, json)), ...rest]]
    case 'promptFeedback':
      return ['gemini', rest]
    case 'data':
      return ['openai-embeddings', yield* readVectors(node, json, rest)]
    default:
      throw new UnreadableForm('it is of no form that is known')
  }
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
  for (const item of asArray(node, 'data').items) asObject(item, 'an embedding')
  if (rest.length > 0 || (yield* anythingIn(node, saidBy(json), 'data')).length > 0)
    throw new UnreadableForm('it has text beside embeddings')
  return []
}

/** Reads any other JSON: errors, lists of models, stored objects. */
export function* readAnything(node: JsonNode, json: Source): Work<readonly Entry[]> {
  return yield* entriesOf(json, yield* anythingIn(node, saidBy(json)))
}
