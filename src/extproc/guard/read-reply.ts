// Sends on a guarded reply that was read as UTF-8, so that clients read it as UTF-8 too.

import type { Headers } from '../session/process-message.js'
import type { ProcessorStream } from '../session/processor.js'
import { OF_THE_BYTES } from '../session/reply-output.js'
import { sendWithHeaders } from '../session/whole-body.js'
import { isEventStream, type PassedReply } from './inspect-reply.js'

const MENTIONED = /charset/i
/** A type that names UTF-8 and no other charset. Clients differ about what else mentions one. */
const IS_UTF8 = /^[\w.+/-]+; ?charset=(?:utf-?8|"utf-?8")$/i
const TYPE = /^[\w.+-]+\/[\w.+-]+/

/**
 * Returns the headers to set on a reply that was read as UTF-8. In another charset, such as UTF-7, the same bytes could
 * hold a text that no webhook has seen.
 */
export function asUtf8(headers: Headers): Readonly<Record<string, string>> {
  const [type = '', ...others] = headers.get('content-type') ?? []
  const isPlain = ![type, ...others].some((each) => MENTIONED.test(each))
  if (isPlain || (others.length === 0 && IS_UTF8.test(type))) return {}
  const media = isEventStream(headers) ? 'text/event-stream' : TYPE.exec(type)?.[0]
  return { 'content-type': `${media ?? 'text/plain'}; charset=utf-8` }
}

/** Sends on a held reply. bytes: as received. Returns a promise only if it takes more than this turn. */
export function sendPassed(
  stream: ProcessorStream,
  finding: PassedReply,
  bytes: Uint8Array,
  headers: Headers,
  hasTrailers: boolean,
): Promise<void> | void {
  const set = finding.type === 'unread' ? {} : asUtf8(headers)
  if (finding.type !== 'changed')
    return sendWithHeaders(stream, 'response', { set }, bytes, hasTrailers)
  const change = { set, remove: OF_THE_BYTES }
  return sendWithHeaders(stream, 'response', change, finding.body, hasTrailers)
}
