// Reads the MCP messages in the body of a check, which the rules are asked about.

import { type McpRequest, readMcpRequest } from '../mcp/http-message.js'
import type { McpProblem } from '../mcp/mcp-problem.js'
import type { Result } from '../result.js'
import { nextTurn, type Work } from '../turns.js'
import type { BodyLine } from './body-line.js'
import type { CheckRequest } from './check-request.js'

/**
 * not sent: Envoy still has an earlier configuration, which sends no bodies. busy: too many bodies are waiting. unawaited:
 * the check was over before its body was read.
 */
export type ReadMessages = Result<McpRequest, McpProblem> | 'not sent' | 'busy' | 'unawaited'

const EMPTY = new Uint8Array()

/** Synchronous if the body is short. isOver: whether nobody waits for the check any more. */
export function readMessages(
  line: BodyLine,
  { method, headers, body = EMPTY }: CheckRequest,
  isOver: () => boolean,
): ReadMessages | Promise<ReadMessages> {
  if (body.length === 0 && Number(headers.get('content-length') ?? 0) > 0) return 'not sent'
  const work = readMcpRequest({ method, headers, body })
  const step = work.next()
  if (step.done === true) return step.value
  return line.run(() => finish(work, isOver)) ?? 'busy'
}

async function finish(
  work: Work<Result<McpRequest, McpProblem>>,
  isOver: () => boolean,
): Promise<ReadMessages> {
  for (;;) {
    // Others wait for its place in the line.
    if (isOver()) return 'unawaited'
    await nextTurn()
    const step = work.next()
    if (step.done === true) return step.value
  }
}
