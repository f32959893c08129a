// Converts a call of MCP to the variable mcp of rules.

import type { McpAttributes } from '../cel/attributes.js'
import { jsonNodeValue } from '../cel/json-node-value.js'
import { parseJsonText } from '../cel/json-text.js'
import type { ReadCall } from '../mcp/http-message.js'

/** Returns the variable mcp for a call. */
export function mcpAttributes(call: ReadCall): McpAttributes {
  return {
    method: call.method,
    id: parseJsonText(call.id) as McpAttributes['id'],
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
