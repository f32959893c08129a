// The APIs of LLM servers that can be guarded.

/** The API that a client uses; determines which texts a body holds, and the form of Gatehouse's errors. */
export type LlmApi =
  | 'openai-chat'
  | 'openai-completions'
  | 'openai-responses'
  | 'openai-embeddings'
  | 'openai-images'
  | 'openai-moderations'
  | 'openai-threads'
  | 'anthropic-messages'
  | 'gemini'
  | 'gemini-interactions'
  | 'cohere'
  | 'mistral-conversations'
  | 'ollama'
  | 'ai-sdk'
  | 'ag-ui'
  | 'bedrock-converse'
