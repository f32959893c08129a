// Sends a held reply to the client: the LLM's, possibly with another body, or Gatehouse's own in its place.

import { type HeaderChange, sendBody, sendHeaders, sendTrailers } from './guard-messages.js'
import type { Reply } from './immediate-response.js'
import type { Headers } from './process-message.js'
import type { ProcessorStream } from './processor.js'
import { kindOf } from './refusal-metadata.js'

/** Headers that describe the exact bytes of a body. */
export const OF_THE_BYTES = [
  'content-encoding',
  'etag',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
] as const

function sendRest({ send }: ProcessorStream, body: Uint8Array, hasTrailers: boolean): void {
  sendBody(send, 'response', body, !hasTrailers)
  if (hasTrailers) sendTrailers(send, 'response')
}

/**
 * Replaces the headers of a reply. Those that filters added for the client (CORS) stay, which an immediate response would
 * remove, and so does the session that an MCP server has just made.
 */
function changeTo(reply: Reply, headers: Headers): HeaderChange {
  const set: Readonly<Record<string, string>> = {
    ...reply.headers,
    ':status': String(reply.status),
  }
  const remove = [...headers.keys()].filter((name) => !KEPT.test(name) && !(name in set))
  return { set, remove, refusal: kindOf(reply) }
}

const KEPT = /^(?::|access-control-|vary$|date$|x-request-id$|mcp-session-id$)/

/** Gatehouse's own answer in place of the LLM's reply. */
export interface OwnReply {
  /** headers: the LLM's. */
  send(reply: Reply, headers: Headers, hasTrailers: boolean): void
  /** Called when the LLM's body, or what follows it, begins to arrive. */
  begin(hasTrailers: boolean): void
  /** Whether its body is still to be sent. */
  isOwed(): boolean
}

/**
 * Delays the answer's body until the LLM's body begins: if Envoy gets one before it has sent any, it resets the client.
 */
export function createOwnReply(stream: ProcessorStream): OwnReply {
  let hasBegun = false
  let owed: Uint8Array | undefined
  return {
    send: (reply, headers, hasTrailers) => {
      const change = changeTo(reply, headers)
      const length: Readonly<Record<string, string>> =
        hasBegun && hasTrailers ? {} : { 'content-length': String(reply.body.length) }
      sendHeaders(stream, 'response', { ...change, set: { ...change.set, ...length } })
      if (hasBegun) sendRest(stream, reply.body, hasTrailers)
      else owed = reply.body
    },
    begin: (hasTrailers) => {
      hasBegun = true
      if (owed !== undefined) sendRest(stream, owed, hasTrailers)
      owed = undefined
    },
    isOwed: () => owed !== undefined,
  }
}
