// Reads members of the variables request and mcp by the names that expressions use.

import type { McpAttributes, RequestAttributes } from '../cel/attributes.js'
import { hostNameOf } from '../routing/client-request.js'
import { pathOf } from '../routing/match-route.js'

type Text = string | null

/** Returns request.MEMBER; null: there is no such member. */
export function requestRead(request: RequestAttributes | undefined, member: string): Text {
  if (request === undefined) return null
  const { method, scheme, version, pathAndQuery, host } = request
  const values: Readonly<Record<string, string>> = {
    ...{ method, scheme, version, pathAndQuery },
    host: hostNameOf(host).replace(/\.$/, ''),
    path: pathOf(pathAndQuery),
    uri: `${scheme}://${host}${pathAndQuery}`,
  }
  return values[member] ?? null
}

/** Returns mcp.MEMBER. Arguments of a tool are not shown, as they are the content of the message. */
export function mcpRead(mcp: McpAttributes | undefined, member: string): string | number | null {
  if (mcp === undefined) return null
  switch (member) {
    case 'method':
      return mcp.method
    case 'protocolVersion':
      return mcp.protocolVersion
    case 'id':
      return typeof mcp.id === 'bigint' ? String(mcp.id) : mcp.id
    case 'tool':
    case 'tool.name':
      return mcp.toolName
    case 'prompt':
    case 'prompt.name':
      return mcp.promptName
    case 'resource':
    case 'resource.uri':
      return mcp.resourceUri
    default:
      return '(not shown)'
  }
}
