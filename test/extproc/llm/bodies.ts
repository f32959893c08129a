// Reads bodies of LLM APIs for tests, and shows in short what the readers find.

import { readReply, readRequest } from '../../../src/extproc/llm/read-body.js'
import { type Conversation, rewrite } from '../../../src/extproc/llm/text/conversation.js'
import type { Result } from '../../../src/kit/result.js'
import { atOnce, type Work } from '../../../src/kit/turns.js'

export type Read = (body: Uint8Array) => Work<Result<Conversation, string>>

const bytes = (body: unknown): Uint8Array =>
  new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))

/** @throws for a body that cannot be read. */
function conversation(read: Read, body: unknown): Conversation {
  const result = atOnce(read(bytes(body)))
  if (!result.ok) throw new Error(result.error)
  return result.value
}

export const requestOf = (body: unknown, path = ''): Conversation =>
  conversation((given) => readRequest(given, path), body)
export const replyOf = (body: unknown): Conversation =>
  conversation((given) => readReply(given), body)

/** "role: content", [tool-call] before tool calls. */
export const lines = ({ entries }: Conversation): string[] =>
  entries.map(
    ({ kind, role, content }) => `${kind === 'tool-call' ? '[tool-call] ' : ''}${role}: ${content}`,
  )

export function problemOf(read: Read, body: unknown): string | undefined {
  const result = atOnce(read(bytes(body)))
  return result.ok ? undefined : result.error
}

/** The body with "secret" masked in every entry. */
export const masked = (found: Conversation): string =>
  atOnce(
    rewrite(
      found,
      found.entries.map(({ content }) => content.replaceAll('secret', '****')),
    ),
  )
