// Reads the MCP messages in the body of a check, which the rules are asked about.

import { err, type Result } from '../kit/result.js'
import { nextTurn, type Work } from '../kit/turns.js'
import type { BodyLine } from './body-line.js'
import type { CheckRequest } from './check-request.js'
import { type HttpMessage, type McpRequest, readMcpRequest } from './mcp/http-message.js'
import { McpProblem } from './mcp/mcp-problem.js'
import { isNormalResource } from './mcp/resource-uri.js'
import type { CompiledRules } from './rules/judge.js'

/**
 * not sent: Envoy still has an earlier configuration, which sends no bodies. busy: too many bodies are waiting. unawaited:
 * the check was over before its body was read.
 */
export type ReadMessages = Result<McpRequest, McpProblem> | 'not sent' | 'busy' | 'unawaited'

const EMPTY = new Uint8Array()

/** rules: those that judge the messages. Synchronous if the body is short. isOver: whether nobody waits for the check any more. */
export function readMessages(
  line: BodyLine,
  { method, headers, body = EMPTY }: CheckRequest,
  rules: CompiledRules | undefined,
  isOver: () => boolean,
): ReadMessages | Promise<ReadMessages> {
  if (body.length === 0 && Number(headers.get('content-length') ?? 0) > 0) return 'not sent'
  const work = readRequest({ method, headers, body }, rules?.readResources === true)
  const step = work.next()
  if (step.done === true) return step.value
  return line.run(() => finish(work, isOver)) ?? 'busy'
}

const NOT_NORMAL =
  'The URI of a resource is not in its normal form: as parsers of URLs write it, without escapes that it does not need'

/** hasResourceRules: whether rules judge resources by their URIs, which then have one spelling only. */
function* readRequest(
  http: HttpMessage,
  hasResourceRules: boolean,
): Work<Result<McpRequest, McpProblem>> {
  const read = yield* readMcpRequest(http)
  if (!read.ok || !hasResourceRules || read.value.calls.every(isNormalResource)) return read
  return err(new McpProblem('invalid-params', NOT_NORMAL, read.value.id))
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
