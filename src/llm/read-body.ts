// A body → what a webhook is shown of it, by the form that it has (decision 18). A form that is not known is an
// error, never a conversation without texts.

import { err, ok, type Result } from '../result.js'
import { readAnthropicReply } from './apis/anthropic.js'
import { readGeminiReply, readGeminiRequest } from './apis/gemini.js'
import { readChatChoices, readMessagesRequest } from './apis/openai-chat.js'
import { readCompletionChoices, readCompletionsRequest } from './apis/openai-completions.js'
import { readEmbeddingsInput, readEmbeddingsReply } from './apis/openai-embeddings.js'
import { readResponsesReply, readResponsesRequest } from './apis/openai-responses.js'
import { apiOfInput, apiOfMessages, familyOfRequest, REQUEST_TEXTS } from './detect-api.js'
import { readJson, type JsonNode, type JsonProblem, type JsonText } from './json/json-text.js'
import { asArray, asObject, either, member, present, type JsonObjectNode } from './json/members.js'
import { UnreadableForm } from './json/unreadable-form.js'
import type { LlmApi } from './text/api.js'
import type { Conversation, Entry } from './text/conversation.js'
import { proseEntries } from './text/entries.js'
import { promptParts } from './text/prompt-parts.js'

/** What a body says, and to which API it belongs. */
type Said = readonly [LlmApi, readonly Entry[]]
type Reader = (body: JsonObjectNode, json: string) => Said

/** path: of the request, with its query. The error is a sentence without any text of the body. */
export const readRequest = (body: Uint8Array | JsonText, path = ''): Result<Conversation, string> =>
  read(body, (root, json) => {
    switch (familyOfRequest(root)) {
      case 'messages':
        return [apiOfMessages(root, path), readMessagesRequest(root, json)]
      case 'completions':
        return ['openai-completions', readCompletionsRequest(root)]
      case 'gemini':
        return ['gemini', readGeminiRequest(root, json)]
      case 'input':
        return readInput(root, json, path)
    }
  })

function readInput(root: JsonObjectNode, json: string, path: string): Said {
  const api = apiOfInput(root, path)
  const input = present(member(root, 'input'))
  const hasMore = ['instructions', 'prompt'].some((name) => present(member(root, name)))
  return api === 'openai-embeddings' && input !== undefined && !hasMore
    ? [api, [...readEmbeddingsInput(input), ...promptParts(root)]]
    : ['openai-responses', readResponsesRequest(root, json)]
}

/** Member of a reply → how it is read. */
const REPLY_READERS: Readonly<Record<string, Reader>> = {
  choices: readChoices,
  content: (root, json) => [
    'anthropic-messages',
    [...readAnthropicReply(root, json), ...proseEntries(root, 'assistant', CONTENT)],
  ],
  output: (root, json) => ['openai-responses', readResponsesReply(root, json)],
  candidates: (root, json) => ['gemini', readGeminiReply(root, json)],
  data: (root) => ['openai-embeddings', readEmbeddingsReply(root)],
}
const CONTENT: ReadonlySet<string> = new Set(['content'])
/** Of an old API of Anthropic's, which is not read. */
const REPLY_MARKS = [...Object.keys(REPLY_READERS), 'completion']

/** Entries are none when nothing can hold text: a list of embeddings, a prompt that Gemini refused. */
export const readReply = (body: Uint8Array | JsonText): Result<Conversation, string> =>
  read(body, (root, json) => {
    const [mark = '', ...others] = REPLY_MARKS.filter((name) => member(root, name) !== undefined)
    if (others.length > 0) throw new UnreadableForm('it is of two forms at once')
    const isRefused = mark === '' && either(root, 'promptFeedback', 'prompt_feedback')
    const reader = REPLY_READERS[isRefused ? 'candidates' : mark]
    if (reader === undefined) throw new UnreadableForm('it is of no form that is known')
    return reader(root, json)
  })

const CHOICES: ReadonlySet<string> = new Set(['choices'])

function readChoices(root: JsonObjectNode, json: string): Said {
  const items = asArray(member(root, 'choices'), 'choices').items
  const choices = items.map((item) => asObject(item, 'a choice'))
  const has = (name: string): boolean =>
    choices.some((choice) => member(choice, name) !== undefined)
  if (has('delta')) throw new UnreadableForm('a choice is of a stream')
  // Servers say it again there: llama.cpp under __verbose, where the client asks for that.
  const more = proseEntries(root, 'assistant', CHOICES)
  if (!has('text')) return ['openai-chat', [...readChatChoices(choices, json), ...more]]
  if (has('message')) throw new UnreadableForm('a choice has message and text')
  return ['openai-completions', [...readCompletionChoices(choices, json), ...more]]
}

/** Bytes are read at once, which is for what is short. */
function read(body: Uint8Array | JsonText, reader: Reader): Result<Conversation, string> {
  const json = body instanceof Uint8Array ? readJson(body) : ok(body)
  if (!json.ok) return json
  try {
    const root = asObject(json.value.root, 'the body')
    const [api, entries] = reader(root, json.value.text)
    return ok({ api, json: json.value, entries })
  } catch (error) {
    if (error instanceof UnreadableForm) return err(error.message)
    throw error
  }
}

/** Names under which LLM APIs put text. */
const TEXT_MEMBERS: ReadonlySet<string> = new Set([
  ...REPLY_MARKS.filter((name) => name !== 'data'),
  ...REQUEST_TEXTS.map((name) => name.toLowerCase()),
  'arguments',
  'delta',
  'message',
  'parts',
  'text',
])

/** Whether a reply to a request without a body (a list of models, a page) holds nothing that a model said. */
export function isHarmless(
  body: Uint8Array,
  json: Result<JsonText, JsonProblem> = readJson(body),
): boolean {
  if (json.ok) return holdsNoText(json.value.root)
  // Not JSON, nor what could pass for it or for a stream of it.
  return json.error === 'not UTF-8' || (json.error === 'not JSON' && !LIKE_JSON.test(start(body)))
}

const LIKE_JSON = /^\ufeff?\s*(?:[[{"]|(?:data|event|id|retry)?:)/

const start = (body: Uint8Array): string => Buffer.from(body.subarray(0, 1024)).toString()

function holdsNoText(node: JsonNode): boolean {
  if (node.type === 'array') return node.items.every(holdsNoText)
  if (node.type !== 'object') return true
  return [...node.members].every(
    ([name, value]) => !TEXT_MEMBERS.has(name.toLowerCase()) && holdsNoText(value),
  )
}
