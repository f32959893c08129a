// Says what the guard of an LLM route answers by itself, before a webhook is asked about the request.

import type { Ending } from '../../kit/ending.js'
import { inTurns } from '../../kit/turns.js'
import type { GuardEntry } from '../../model/proc-entry.js'
import { UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import { readRequest } from '../llm/read-body.js'
import type { Headers } from '../session/process-message.js'
import { compileGuard, inspectsOf } from '../webhook/compiled-guard.js'
import { decodeUnheld } from './decoded-body.js'
import {
  requestPath,
  requestTooLarge,
  unreadableAnswer,
  unreadableRequest,
} from './inspect-request.js'
import type { Refused } from './inspection.js'
import { guardedRequest } from './request-attributes.js'

/** A request with a body. */
export interface UnaskedRequest {
  /** Includes pseudo-headers. */
  readonly headers: Headers
  readonly body: Uint8Array
}

/** undefined: webhooks are asked, or none reads requests. */
export async function refusedUnasked(
  entry: GuardEntry,
  { headers, body }: UnaskedRequest,
  maxBodyBytes: number,
  signal: Ending,
): Promise<Refused | undefined> {
  const guard = compileGuard(entry)
  const { request: webhooks } = guard
  if (webhooks.length === 0) return undefined
  const { attributes, problem, encoding = '' } = guardedRequest(headers)
  const path = requestPath(attributes)
  if (problem !== undefined) return unreadableRequest(problem, path)
  if (body.length > maxBodyBytes) return requestTooLarge(path)
  const decoded = await decodeUnheld(body, encoding, maxBodyBytes)
  if (decoded === 'too large') return requestTooLarge(path)
  if (decoded === undefined) return unreadableRequest(UNREADABLE_ENCODING, path)
  const read = await inTurns(readRequest(decoded, path, inspectsOf(webhooks)), signal)
  if (read === undefined) return undefined
  return read.ok ? unreadableAnswer(guard, read.value, path) : unreadableRequest(read.error, path)
}
