// Builds JSON-RPC answers in place of messages that a guard rejects.

import { errorBody, FORBIDDEN_CODE, NO_ID } from '../../../extauthz/mcp/mcp-problem.js'
import type { AskedCall } from './guarded-message.js'

/** A webhook's reject. text: may be "". */
export interface Rejection {
  readonly status: number
  readonly text: string
  /** For the client. */
  readonly reason?: string
}

const REJECTED = 'Rejected by a guardrail.'

/**
 * Returns the answer to a rejected request, or in place of its rejected result: for a tool call a result with isError,
 * which models read; for other requests a JSON-RPC error.
 */
export function rejectedAnswer(
  { id, tool, needsResultType }: AskedCall,
  rejection: Rejection,
): string {
  if (tool.method !== 'tools/call') return rejectedError(rejection, id)
  const result = {
    ...(needsResultType && { resultType: 'complete' }),
    content: [{ type: 'text', text: textOf(rejection) }],
    isError: true,
    ...(rejection.reason !== undefined && { _meta: { reason: rejection.reason } }),
  }
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`
}

/** Returns a JSON-RPC error for what a webhook has rejected. */
export function rejectedError(rejection: Rejection, id = NO_ID): string {
  const { status, reason } = rejection
  const data = { status, ...(reason !== undefined && { reason }) }
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({
    code: FORBIDDEN_CODE,
    message: textOf(rejection),
    data,
  })}}`
}

const textOf = ({ text, reason }: Rejection): string => (text === '' ? (reason ?? REJECTED) : text)

/** JSON-RPC's internal error. */
const INTERNAL = -32_603

/** Returns an answer that reports a failure of the guard. */
export const failedAnswer = (message: string, id = NO_ID): string =>
  errorBody(INTERNAL, message, id)
