// The APIs of LLM servers that are guarded.

/** What a client speaks: it decides which texts a body holds and what an error of ours looks like. */
export type LlmApi =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-responses'
  | 'openai-embeddings'
  | 'anthropic-messages'
  | 'gemini'
