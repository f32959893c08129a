// Span attributes for LLM traffic, as OpenTelemetry's semantic conventions for generative AI define them.

import type { SpanAttributes } from '../../kit/tracing.js'
import type { LlmApi } from '../llm/text/api.js'
import type { Conversation } from '../llm/text/conversation.js'
import { modelInPath, type Usage, usageOf } from '../llm/text/usage.js'

interface ApiNames {
  readonly provider: string
  readonly operation: string
}

const NAMES: Readonly<Record<LlmApi, ApiNames>> = {
  'openai-chat': { provider: 'openai', operation: 'chat' },
  'openai-completions': { provider: 'openai', operation: 'text_completion' },
  'openai-responses': { provider: 'openai', operation: 'chat' },
  'openai-embeddings': { provider: 'openai', operation: 'embeddings' },
  'openai-images': { provider: 'openai', operation: 'generate_content' },
  'openai-moderations': { provider: 'openai', operation: 'moderation' },
  'openai-threads': { provider: 'openai', operation: 'chat' },
  'anthropic-messages': { provider: 'anthropic', operation: 'chat' },
  cohere: { provider: 'cohere', operation: 'chat' },
  'mistral-conversations': { provider: 'mistral_ai', operation: 'chat' },
  'gemini-interactions': { provider: 'gcp.gemini', operation: 'generate_content' },
  ollama: { provider: 'ollama', operation: 'chat' },
  'ai-sdk': { provider: 'ai-sdk', operation: 'chat' },
  'ag-ui': { provider: 'ag-ui', operation: 'invoke_agent' },
  'bedrock-converse': { provider: 'aws.bedrock', operation: 'chat' },
  gemini: { provider: 'gcp.gemini', operation: 'generate_content' },
}

/** The provider is that of the API's form, which other servers speak too. */
const ofApi = (api: LlmApi): SpanAttributes => ({
  'gen_ai.provider.name': NAMES[api].provider,
  'gen_ai.operation.name': NAMES[api].operation,
})

/** path: the request's. */
export const requestAttributes = ({ api, json }: Conversation, path: string): SpanAttributes => ({
  ...ofApi(api),
  'gen_ai.request.model': usageOf(json)?.model ?? modelInPath(path),
})

/** Returns the attributes that a reply adds to a span. */
export const replyAttributes = (api: LlmApi, usage: Usage | undefined): SpanAttributes => ({
  ...ofApi(api),
  'gen_ai.response.model': usage?.model,
  'gen_ai.usage.input_tokens': usage?.inputTokens,
  'gen_ai.usage.output_tokens': usage?.outputTokens,
})
