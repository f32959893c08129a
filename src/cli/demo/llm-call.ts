// Requests and reads chat completions as a client of OpenAI's API does.

import { UnexpectedAnswer } from './expectation.js'
import { MODEL } from './llm-chat.js'

/** Time limit for the whole answer. */
const TIMEOUT_MS = 20_000

/** Returns the body of a chat request with one message. */
export const chatWith = (content: string, isStream = false): object => ({
  model: MODEL,
  ...(isStream && { stream: true }),
  messages: [{ role: 'user', content }],
})

/** Sends a chat request. */
export const openChat = (url: string, chat: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(chat),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })

/** The status and body of an answer. */
export interface ChatAnswer {
  readonly status: number
  /** Parsed JSON, or the text if it is not JSON. */
  readonly body: unknown
}

/** Reads an answer whole. */
export async function readAnswer(response: Response): Promise<ChatAnswer> {
  const text = await response.text()
  return { status: response.status, body: parse(text) ?? text }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Choice {
  readonly message?: { readonly content?: string }
  readonly delta?: { readonly content?: string }
}

/** Returns the model's text in a completion or in a chunk of one. */
export function textIn(completion: unknown): string {
  const { choices } = (completion ?? {}) as { choices?: readonly Choice[] }
  if (choices === undefined)
    throw new UnexpectedAnswer(`expected a chat completion, got ${JSON.stringify(completion)}`)
  const { message, delta } = choices[0] ?? {}
  return (message ?? delta)?.content ?? ''
}
