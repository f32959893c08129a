// Names under which servers of LLM APIs put text, and names under which there is none.

/** Members of a message whose strings are no prose, or that are read by themselves. */
export const NOT_PROSE: ReadonlySet<string> = new Set([
  'role',
  'content',
  'name',
  'tool_call_id',
  'tool_calls',
  'function_call',
])
/** Below any other member, also one that we do not know, prose stands under one of these names. */
export const PROSE: ReadonlySet<string> = new Set([
  'refusal',
  'reasoning',
  'reasoning_content',
  'text',
  'content',
  'summary',
  'thinking',
  'transcript',
])

/** Members that say the texts beside them again, token by token. */
export const ECHOES: readonly string[] = [
  'logprobs',
  'token_ids',
  'tokens',
  // Of llama.cpp.
  'completion_probabilities',
]

/** Types of parts of a chat message that hold no text of their own. */
export const OTHER_PARTS: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file'])
