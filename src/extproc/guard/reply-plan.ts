// Decides from the headers of a guarded reply how its body is handled.

import { apiOfPath } from '../../llm/detect-api.js'
import { decoderOf, UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { Decoder } from '../encodings/decoder.js'
import type { Headers } from '../stream/process-message.js'
import type { StreamedForm } from '../streamed/opening.js'
import type { Guard } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import {
  encodingOf,
  isEventStream,
  isOfLines,
  isSuccess,
  lengthOfReply,
  passesUnread,
  problemOfReply,
  TOO_LARGE,
} from './inspect-reply.js'

/** What a reply may turn out to be, and the decoder for its Content-Encoding. */
export interface MayBeStreamed {
  readonly form: StreamedForm
  readonly decoder: Decoder
}

/** How the body of a reply is handled. */
export type ReplyPlan =
  /** Passed on as it arrives. */
  | { readonly type: 'pass' }
  | { readonly type: 'refuse'; readonly problem: string }
  /** As events, or as lines. */
  | { readonly type: 'stream'; readonly form: StreamedForm; readonly decoder: Decoder }
  /** streamed: present if the headers do not tell a streamed reply from a whole one. */
  | { readonly type: 'hold'; readonly streamed: MayBeStreamed | undefined }

/** path: the request's path. */
export function replyPlan(
  guard: Guard,
  headers: Headers,
  path: string,
  deps: GuardDeps,
): ReplyPlan {
  const { maxBodyBytes } = deps
  if (guard.response.length === 0) return { type: 'pass' }
  const problem = isSuccess(headers) ? problemOfReply(headers) : undefined
  if (problem !== undefined)
    return passesUnread(guard, problem, deps) ? { type: 'pass' } : { type: 'refuse', problem }
  const form = isSuccess(headers) ? declaredForm(headers) : undefined
  if (form !== undefined) {
    const decoder = decoderOf(encodingOf(headers), { maxBytes: maxBodyBytes })
    return decoder === undefined
      ? { type: 'refuse', problem: UNREADABLE_ENCODING }
      : { type: 'stream', form, decoder }
  }
  if (lengthOfReply(headers) > maxBodyBytes) return { type: 'refuse', problem: TOO_LARGE }
  const perhaps = mayBe(headers, path)
  const decoder = perhaps && decoderOf(encodingOf(headers), { maxBytes: maxBodyBytes })
  return { type: 'hold', streamed: decoder && { form: perhaps, decoder } }
}

/** What the headers say about a streamed reply; undefined: nothing. */
function declaredForm(headers: Headers): StreamedForm | undefined {
  if (isEventStream(headers)) return 'events'
  return isOfLines(headers) ? 'lines' : undefined
}

/** Servers may declare events and answer an error in JSON. undefined: it can only be whole. */
function mayBe(headers: Headers, path: string): StreamedForm | undefined {
  if (isSuccess(headers)) return streamsAsArray(path) ? 'array' : undefined
  return isEventStream(headers) ? 'events' : undefined
}

/** Whether streams are one JSON array, as Gemini's are unless the client asks for events. */
const streamsAsArray = (path: string): boolean => apiOfPath(path) === 'gemini'
