// Explains what the guard of a route answers by itself, with the code of the ext_proc server: a body that is too large or
// cannot be read is refused before a webhook is asked.

import type { Refused } from '../../extproc/guard/inspection.js'
import { refusedUnasked, type UnaskedRequest } from '../../extproc/guard/unasked.js'
import { refusedUnaskedMcp } from '../../extproc/mcp/unasked.js'
import { kindOf } from '../../extproc/session/refusal-metadata.js'
import { OwnEnding } from '../../kit/ending.js'
import type { ProcEntry } from '../../model/proc-entry.js'
import type { Explanation } from './explanation.js'
import type { RoutedRequest } from './routing/match-route.js'

/** A request that the check has let pass. */
export interface GuardedBody {
  readonly request: RoutedRequest
  readonly scheme: string
  /** Absent: the request has none. */
  readonly body?: Uint8Array | undefined
  /** --max-body-bytes. */
  readonly maxBodyBytes: number
}

/** undefined: the guard refuses nothing by itself. */
export async function guardRefusal(
  proc: ProcEntry | undefined,
  given: GuardedBody,
): Promise<Pick<Explanation, 'result' | 'answer' | 'changes'> | undefined> {
  const { body, maxBodyBytes } = given
  if (body === undefined || body.length === 0) return undefined
  const refused = await refusedBy(proc, { headers: headersOf(given), body }, maxBodyBytes)
  if (refused === undefined) return undefined
  const { reply, problem } = refused
  const change =
    reply.status === 413
      ? `Send a body of at most ${String(maxBodyBytes)} bytes, or raise --max-body-bytes`
      : 'Send a body in a form that the guard reads: docs/guardrail-webhook.md lists them'
  return {
    result: 'denied',
    answer: {
      from: 'Gatehouse',
      status: reply.status,
      reason: kindOf(reply),
      headers: Object.entries(reply.headers),
      body: Buffer.from(reply.body).toString(),
      text: `the guard refuses the body before any webhook is asked: ${problem}`,
    },
    changes: [change],
  }
}

function refusedBy(
  proc: ProcEntry | undefined,
  request: UnaskedRequest,
  maxBodyBytes: number,
): Promise<Refused | undefined> {
  const nobodyLeaves = new OwnEnding()
  if (proc?.type === 'guard') return refusedUnasked(proc, request, maxBodyBytes, nobodyLeaves)
  if (proc?.type === 'mcp-guard')
    return refusedUnaskedMcp(proc, request, maxBodyBytes, nobodyLeaves)
  return Promise.resolve(undefined)
}

function headersOf({ request, scheme, body }: GuardedBody): UnaskedRequest['headers'] {
  const { method, authority, target } = request
  const all = new Map<string, readonly string[]>([
    [':method', [method]],
    [':scheme', [scheme]],
    [':authority', [authority]],
    [':path', [target]],
  ])
  for (const [name, value] of request.headers) all.set(name, [...(all.get(name) ?? []), value])
  if (!all.has('content-length')) all.set('content-length', [String(body?.length ?? 0)])
  return all
}
