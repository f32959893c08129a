// APIs whose replies cannot be read, although most of their requests can: the model would be paid for a reply that is
// then refused (decision 18).

import type { JsonNode } from '../json/json-node.js'
import { type JsonObjectNode, present } from '../json/members.js'
import type { Family } from './apis/requests.js'

interface UnreadableApi {
  /** Names it within a sentence. */
  readonly name: string
  /** The end of its paths, without the query. */
  readonly path?: RegExp
  /** What only its requests have. family: undefined if they are of no form that is known. */
  readonly has?: (body: JsonObjectNode, family: Family | undefined) => boolean
}

function has(body: JsonObjectNode, name: string, type?: JsonNode['type']): boolean {
  const node = present(body.members.get(name))
  return node !== undefined && (type === undefined || node.type === type)
}

const APIS: readonly UnreadableApi[] = [
  {
    name: "OpenAI's speech API",
    path: /\/audio\/speech$/,
    has: (body) => has(body, 'input', 'string') && has(body, 'voice'),
  },
  {
    name: "Anthropic's old text completions",
    path: /\/v1\/complete$/,
    has: (body) => has(body, 'max_tokens_to_sample'),
  },
  {
    name: "version 1 of Cohere's API",
    path: /(?<!\/api)\/v1\/(?:generate|summarize)$/,
    has: (body, family) => family === undefined && has(body, 'message', 'string'),
  },
  {
    name: 'reranking',
    path: /\/rerank$/,
    has: (body, family) =>
      family === undefined && has(body, 'documents') && has(body, 'query', 'string'),
  },
  { name: 'classification', path: /\/classify$/ },
  { name: "llama.cpp's own completions", path: /\/(?:completion|infill)$/ },
  { name: 'tokens and templates', path: /\/(?:tokenize|apply-template)$/ },
  { name: 'fine-tuning', path: /\/fine_tuning\/jobs$/ },
  {
    name: "Ollama's API that makes models",
    has: (body) => has(body, 'from', 'string') && !has(body, 'messages') && !has(body, 'prompt'),
  },
  { name: "OpenAI's videos", path: /\/v1\/videos(?:\/|$)/ },
  { name: "OpenAI's realtime API", path: /\/realtime(?:\/|$)/ },
  { name: "Gemini's cached contents", path: /\/cachedContents$/ },
  {
    name: 'batches',
    path: /\/batches$/,
    has: (body, family) => family === undefined && has(body, 'requests', 'array'),
  },
  {
    name: "Bedrock's binary streams",
    path: /\/model\/[^/]+\/(?:converse-stream|invoke-with-response-stream)$/,
  },
]

/** Bedrock passes on what the model's own server answers: to a prompt, each has another form. */
const INVOKED = /\/model\/[^/]+\/invoke$/

/** Returns the name of a request's API if its reply could not be read. path: the request's, with its query. */
export function unreadableApi(
  body: JsonNode,
  family: Family | undefined,
  path: string,
): string | undefined {
  const [plain = ''] = path.split('?', 1)
  if (family === 'completions' && INVOKED.test(plain)) return "prompts of Bedrock's InvokeModel"
  const api =
    APIS.find((one) => one.path?.test(plain)) ??
    (body.type === 'object' ? APIS.find((one) => one.has?.(body, family)) : undefined)
  return api?.name
}
