// What a held reply becomes on its way to the client: the LLM's with its body, perhaps another one, or an answer of ours
// in its place.

import type { ProcessorStream } from '../stream/processor.js'
import {
  bodyMessages,
  headersMessage,
  trailersMessage,
  type HeaderChange,
} from '../stream/guard-messages.js'
import type { Reply } from '../stream/immediate-response.js'
import type { Headers } from './inspect-reply.js'

/** Headers that describe the very bytes of a body. */
export const OF_THE_BYTES = [
  'content-encoding',
  'etag',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
] as const

/** Headers, body and, where the LLM sent them, trailers. */
export function sendReply(
  stream: ProcessorStream,
  change: HeaderChange,
  body: Uint8Array,
  hasTrailers: boolean,
): void {
  const length: Readonly<Record<string, string>> = hasTrailers
    ? {}
    : { 'content-length': String(body.length) }
  stream.send(headersMessage('response', { ...change, set: { ...change.set, ...length } }))
  for (const message of bodyMessages('response', body, !hasTrailers)) stream.send(message)
  if (hasTrailers) stream.send(trailersMessage('response'))
}

/** headers: the LLM's. What filters put there for the client (CORS) stays; hence no immediate response. */
export function sendInstead(
  stream: ProcessorStream,
  reply: Reply,
  headers: Headers,
  hasTrailers: boolean,
): void {
  const set: Readonly<Record<string, string>> = {
    ...reply.headers,
    ':status': String(reply.status),
  }
  const remove = [...headers.keys()].filter((name) => !KEPT.test(name) && !(name in set))
  sendReply(stream, { set, remove }, reply.body, hasTrailers)
}

const KEPT = /^(?::|access-control-|vary$|date$|x-request-id$)/
