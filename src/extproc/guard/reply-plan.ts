// Decides from the headers of a guarded reply how its body is handled.

import { apiOfPath } from '../../llm/detect-api.js'
import { decoderOf, UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { Decoder } from '../encodings/decoder.js'
import type { Headers } from '../stream/process-message.js'
import { eventStream, type Framing } from '../streamed/framing.js'
import type { GuardDeps } from '../webhook/ask-webhooks.js'
import type { Guard } from '../webhook/compiled-guard.js'
import {
  encodingOf,
  isEventStream,
  isSuccess,
  lengthOfReply,
  passesUnread,
  problemOfReply,
  TOO_LARGE,
} from './inspect-reply.js'

/** How the body of a reply is handled. */
export type ReplyPlan =
  /** Passed on as it arrives. */
  | { readonly type: 'pass' }
  | { readonly type: 'refuse'; readonly problem: string }
  | { readonly type: 'stream'; readonly framing: Framing; readonly decoder: Decoder }
  /** decoder: present if the headers do not tell a streamed array from an object. */
  | { readonly type: 'hold'; readonly decoder: Decoder | undefined }

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
  // Errors are read as a whole, whatever their content type.
  if (isSuccess(headers) && isEventStream(headers)) {
    const decoder = decoderOf(encodingOf(headers), maxBodyBytes)
    return decoder === undefined
      ? { type: 'refuse', problem: UNREADABLE_ENCODING }
      : { type: 'stream', framing: eventStream(maxBodyBytes), decoder }
  }
  if (lengthOfReply(headers) > maxBodyBytes) return { type: 'refuse', problem: TOO_LARGE }
  const mayBeArray = isSuccess(headers) && streamsAsArray(path)
  return {
    type: 'hold',
    decoder: mayBeArray ? decoderOf(encodingOf(headers), maxBodyBytes) : undefined,
  }
}

/** Whether streams are one JSON array, as Gemini's are unless the client asks for events. */
const streamsAsArray = (path: string): boolean => apiOfPath(path) === 'gemini'
