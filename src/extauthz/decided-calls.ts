// Finds the calls of MCP that a decision is about, for its line in the decision log and its span.

import type { CheckRequest } from './check-request.js'
import type { Decision } from './decision.js'
import { namedCall, type TracedCall } from './mcp/span-attributes.js'

/** Headers that decidedCalls() reads. */
export const CALL_HEADERS: readonly string[] = ['mcp-method', 'mcp-name', 'mcp-protocol-version']

/** Returns the calls in the body if rules read it, otherwise the one that the headers name, which nobody has checked. */
export function decidedCalls(
  decision: Decision,
  { headers }: Pick<CheckRequest, 'headers'>,
): readonly TracedCall[] {
  const mcp = decision.type === 'allow' ? decision.mcp : decision.by?.mcp
  if (mcp !== undefined) return mcp.calls
  const valueOf = (name: string): string => {
    const value = headers.get(name)
    return typeof value === 'string' ? value : ''
  }
  const version = valueOf('mcp-protocol-version')
  return [namedCall(valueOf('mcp-method'), valueOf('mcp-name'), version)]
}
