// The answer that passes a body on unchanged, encoded while webhooks are asked: most allow, and Envoy waits for it.

import type { ProcessorStream } from './processor.js'

/** Longer bodies are not copied before it is known whether they pass, as these copies do not count as held. */
const MOST_BYTES = 16 * 1024

/** An answer to a body, encoded but not sent. */
export interface PreparedAnswer {
  readonly body: Uint8Array
  readonly messages: readonly Buffer[]
}

/**
 * Encodes the answer that write sends, at once for bodies of this size. Returns undefined if the body is too long to do so
 * in advance.
 */
export function prepareAnswer(
  body: Uint8Array,
  stream: ProcessorStream,
  write: (stream: ProcessorStream) => unknown,
): PreparedAnswer | undefined {
  if (body.length > MOST_BYTES) return undefined
  const messages: Buffer[] = []
  write({ ...stream, send: (message) => messages.push(Buffer.from(message)) })
  return { body, messages }
}

/** Sends an answer that was prepared. */
export function sendPrepared({ send }: ProcessorStream, { messages }: PreparedAnswer): void {
  for (const message of messages) send(message)
}
