// Determines the API of a body by its members, and by the request's path where two APIs share a form (decision 18).
// There the path decides only the form of Gatehouse's errors, never which texts are seen.

import type { JsonNode } from '../../kit/json/json-node.js'
import { type JsonObjectNode, member, present } from '../../kit/json/members.js'
import { UnreadableForm } from '../../kit/json/unreadable-form.js'
import type { Family } from './apis/requests.js'
import type { LlmApi } from './text/api.js'

const REQUEST_MARKS: readonly (readonly [member: string, Family])[] = [
  ['messages', 'messages'],
  ['system', 'messages'],
  ['suffix', 'completions'],
  ['input', 'input'],
  ['instructions', 'input'],
  ['contents', 'gemini'],
  ['systemInstruction', 'gemini'],
  ['system_instruction', 'gemini'],
]

/** path: the request's, with its query. @throws UnreadableForm for a body of no known form, or of two. */
export function familyOfRequest(body: JsonObjectNode, path: string): Family {
  const families = new Set<Family>()
  for (const [name, family] of REQUEST_MARKS)
    if (member(body, name) !== undefined) families.add(family)
  const prompt = member(body, 'prompt')
  // Ollama's prompts may have a system prompt beside them.
  if (present(prompt) !== undefined && member(body, 'messages') === undefined)
    families.delete('messages')
  if (prompt !== undefined) families.add(familyOfPrompt(prompt.type, families))
  const other = otherFamily(body, families, path)
  if (other !== undefined) return other
  const [family, ...others] = families
  if (family === undefined) throw unknownForm(body, path)
  if (others.length > 0) throw new UnreadableForm('it is of two forms at once')
  return family === 'input' && isEmbedding(body, path) ? 'embeddings' : family
}

/** Returns a family that is told by several members, or by the path where no other reads the body. */
function otherFamily(
  body: JsonObjectNode,
  families: ReadonlySet<Family>,
  path: string,
): Family | undefined {
  const has = (name: string): boolean => present(member(body, name)) !== undefined
  const isNoneOr = (family: Family): boolean =>
    families.size === 0 || (families.size === 1 && families.has(family))
  if (has('input') && [...families].every((name) => name === 'input' || name === 'gemini')) {
    const isText = member(body, 'system_instruction')?.type === 'string'
    if (isText || INTERACTION_MARKS.some(has)) return 'interaction'
  }
  if (has('input') || !isNoneOr('input')) return undefined
  const isConversation = apiOfPath(path) === 'mistral-conversations'
  if (has('inputs') && (isConversation || CONVERSATION_MARKS.some(has))) return 'conversation'
  if (has('assistant_id') || has('tool_outputs')) return 'thread'
  return families.size === 0 && has('role') && has('content') ? 'thread' : undefined
}

/** Members beside an input that only Gemini's interactions have. */
const INTERACTION_MARKS = ['previous_interaction_id', 'generation_config', 'agent_config', 'agent']
/** Members beside inputs that only Mistral's conversations have. */
const CONVERSATION_MARKS = ['agent_id', 'completion_args', 'handoff_execution', 'model', 'store']

function unknownForm(body: JsonObjectNode, path: string): UnreadableForm {
  const api = unreadableApi(body, undefined, path)
  return new UnreadableForm(
    api === undefined ? 'it is of no form that is known' : `it is for ${api}, which is not known`,
  )
}

/**
 * Returns why the reply to a request that can be read could not be read; undefined: it could. path: the request's, with
 * its query.
 */
export function problemOfReplyTo(body: JsonNode, path: string): string | undefined {
  const api = body.type === 'object' && unreadableApi(body, familyOfRequest(body, path), path)
  return typeof api === 'string' ? `the request is for ${api}` : undefined
}

/** An object refers to a prompt that the server of the Responses API stores. */
const familyOfPrompt = (type: string, families: ReadonlySet<Family>): Family =>
  type === 'object' || (type === 'null' && families.has('input')) ? 'input' : 'completions'

/** Whether input is to be embedded: a list of strings is; a lone string may be for either API. */
function isEmbedding(body: JsonObjectNode, path: string): boolean {
  const input = present(member(body, 'input'))
  const hasMore = ['instructions', 'prompt'].some((name) => present(member(body, name)))
  if (input === undefined || hasMore) return false
  const [first] = input.type === 'array' ? input.items : []
  if (first !== undefined) return first.type !== 'object'
  const isMarked = apiOfPath(path) === 'openai-embeddings' || body.members.has('encoding_format')
  return isMarked && input.type === 'string'
}

/** Tells apart APIs that share a form: by members that only one of them has, else by the path. */
export function apiOfRequest(body: JsonObjectNode, family: Family, path: string): LlmApi {
  switch (family) {
    case 'messages':
      return apiOfMessages(body, path)
    case 'completions':
      return apiOfPrompt(path)
    case 'input':
      return apiOfInput(path)
    case 'embeddings':
      return apiOfPath(path) === 'openai-moderations' ? 'openai-moderations' : 'openai-embeddings'
    case 'gemini':
      return 'gemini'
    case 'conversation':
      return 'mistral-conversations'
    case 'interaction':
      return 'gemini-interactions'
    case 'thread':
      return 'openai-threads'
  }
}

/** Members that only one of the APIs with messages has. */
const MESSAGES_MARKS: readonly (readonly [member: string, LlmApi])[] = [
  ['anthropic_version', 'anthropic-messages'],
  ['inferenceConfig', 'bedrock-converse'],
  ['toolConfig', 'bedrock-converse'],
  ['additionalModelRequestFields', 'bedrock-converse'],
  ['runId', 'ag-ui'],
  ['citation_options', 'cohere'],
  ['safety_mode', 'cohere'],
  ['keep_alive', 'ollama'],
]
/** APIs whose requests have messages, perhaps without any of these. */
const OF_MESSAGES: ReadonlySet<LlmApi | undefined> = new Set([
  ...(['anthropic-messages', 'bedrock-converse', 'cohere', 'ollama'] as const),
])

function apiOfMessages(body: JsonObjectNode, path: string): LlmApi {
  const has = (name: string): boolean => present(member(body, name)) !== undefined
  const marked = MESSAGES_MARKS.find(([name]) => has(name))?.[1]
  if (marked !== undefined) return marked
  if (hasParts(member(body, 'messages'))) return 'ai-sdk'
  const api = apiOfPath(path)
  if (api === 'bedrock-converse') return api
  if (has('system')) return 'anthropic-messages'
  return api !== undefined && OF_MESSAGES.has(api) ? api : 'openai-chat'
}

/** Whether messages have parts in place of content. */
const hasParts = (messages: JsonNode | undefined): boolean =>
  messages?.type === 'array' &&
  messages.items.some(
    (item) => item.type === 'object' && item.members.has('parts') && !item.members.has('content'),
  )

function apiOfInput(path: string): LlmApi {
  const api = apiOfPath(path)
  return api === 'openai-moderations' || api === 'gemini-interactions' ? api : 'openai-responses'
}

function apiOfPrompt(path: string): LlmApi {
  const api = apiOfPath(path)
  return api === 'openai-images' || api === 'ollama' ? api : 'openai-completions'
}

/** Ends of paths, or parts that a slash follows; the first that fits counts. */
const PATHS: readonly (readonly [part: string, LlmApi])[] = [
  ['/chat/completions', 'openai-chat'],
  ['/completions', 'openai-completions'],
  ['/responses', 'openai-responses'],
  ['/embeddings', 'openai-embeddings'],
  ['/images/generations', 'openai-images'],
  ['/images/edits', 'openai-images'],
  ['/moderations', 'openai-moderations'],
  ['/v1/messages', 'anthropic-messages'],
  ['/threads', 'openai-threads'],
  ['/interactions', 'gemini-interactions'],
  ['/conversations', 'mistral-conversations'],
  ['/v2/chat', 'cohere'],
  ['/api/chat', 'ollama'],
  ['/api/generate', 'ollama'],
  ['/converse', 'bedrock-converse'],
]
const GEMINI = /:(?:streamGenerateContent|generateContent|countTokens)$/

/** path: with its query. undefined: it does not tell the API. */
export function apiOfPath(path: string): LlmApi | undefined {
  const queryAt = path.indexOf('?')
  const plain = queryAt === -1 ? path : path.slice(0, queryAt)
  for (const [part, api] of PATHS)
    if (plain.endsWith(part) || plain.includes(`${part}/`)) return api
  return GEMINI.test(plain) ? 'gemini' : undefined
}

// APIs whose replies cannot be read, although most of their requests can: the model would be paid for a reply that is
// then refused (decision 18).

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
function unreadableApi(
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
