// Reads and writes OpenAI's chat completions for the demo's LLM server.

/** Name of the only model. */
export const MODEL = 'parrot'

/** Creation time of the model and of all its answers, in seconds since the epoch. */
const CREATED = 1_767_225_600

/** What a chat request asks for. */
export interface Asked {
  /** Text of the last message. */
  readonly prompt: string
  readonly isStream: boolean
}

/** Returns undefined if the body does not ask for a chat completion. */
export function readChat(body: string): Asked | undefined {
  const { messages, stream } = parseObject(body)
  const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  if (typeof last !== 'object' || last === null) return undefined
  return { prompt: textOf((last as Members)['content']), isStream: stream === true }
}

type Members = Readonly<Record<string, unknown>>

function parseObject(body: string): Members {
  try {
    const json: unknown = JSON.parse(body)
    return typeof json === 'object' && json !== null ? (json as Members) : {}
  } catch {
    return {}
  }
}

/** content: a string, or parts of which some have a text. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  const parts = Array.isArray(content) ? (content as readonly (Members | null)[]) : []
  return parts.map((part) => (typeof part?.['text'] === 'string' ? part['text'] : '')).join('')
}

/** The answer to a request for the server's models. */
export const modelList = {
  object: 'list',
  data: [{ id: MODEL, object: 'model', created: CREATED, owned_by: 'demo' }],
} as const

const common = { id: 'chatcmpl-demo', created: CREATED, model: MODEL } as const

/** Returns a chat completion. */
export const completion = (content: string): object => ({
  ...common,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
})

/** Returns the chunks of a streamed completion: the role, the pieces, the end. */
export const chunksOf = (pieces: readonly string[]): readonly object[] => [
  chunk({ role: 'assistant', content: '' }),
  ...pieces.map((content) => chunk({ content })),
  chunk({}, 'stop'),
]

const chunk = (delta: object, finishReason: 'stop' | null = null): object => ({
  ...common,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
})

/** Returns the body of an error. */
export const problem = (message: string): object => ({
  error: { message, type: 'invalid_request_error', param: null, code: null },
})
