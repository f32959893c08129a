// The body of a check → the messages of MCP that rules are asked about, and each as the variable mcp.

import type { McpAttributes } from '../cel/attributes.js'
import { jsonNodeValue } from '../cel/json-node-value.js'
import { type McpRequest, type ReadCall, readMcpRequest } from '../mcp/http-message.js'
import type { McpProblem } from '../mcp/mcp-problem.js'
import type { Result } from '../result.js'
import { nextTurn, type Work } from '../turns.js'
import type { BodyLine } from './body-line.js'
import type { CheckRequest } from './check-request.js'

export type { McpRequest }

/** not sent: Envoy has a configuration of before, by which no body waits for a check. */
export type ReadMessages = Result<McpRequest, McpProblem> | 'not sent' | 'busy'

const EMPTY = new Uint8Array()

/** At once where the body is short. */
export function readMessages(
  line: BodyLine,
  { method, headers, body = EMPTY }: CheckRequest,
): ReadMessages | Promise<ReadMessages> {
  if (body.length === 0 && Number(headers.get('content-length') ?? 0) > 0) return 'not sent'
  const work = readMcpRequest({ method, headers, body })
  const step = work.next()
  if (step.done === true) return step.value
  return line.run(() => finish(work)) ?? 'busy'
}

async function finish(work: Work<Result<McpRequest, McpProblem>>): Promise<ReadMessages> {
  for (;;) {
    await nextTurn()
    const step = work.next()
    if (step.done === true) return step.value
  }
}

export function mcpAttributes(call: ReadCall): McpAttributes {
  const id = JSON.parse(call.id) as string | number | null
  return {
    method: call.method,
    id: Number.isSafeInteger(id) ? BigInt(id as number) : id,
    protocolVersion: call.protocolVersion,
    toolName: call.toolName,
    toolArguments: () =>
      call.toolArguments === undefined
        ? NO_ARGUMENTS
        : jsonNodeValue(call.toolArguments, call.text),
    promptName: call.promptName,
    resourceUri: call.resourceUri,
  }
}

const NO_ARGUMENTS: ReadonlyMap<string, never> = new Map<string, never>()
