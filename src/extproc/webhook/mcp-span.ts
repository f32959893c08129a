// Span attributes of one guarded MCP message.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import { mcpSpanAttributes, namedCall } from '../../extauthz/mcp/span-attributes.js'
import { hider } from '../../kit/decision-log.js'
import type { SpanAttributes } from '../../kit/tracing.js'
import { NO_REQUEST } from './exchange-fields.js'
import type { ShownTool } from './webhook-request.js'

/** The attributes of the message, or of the request that it answers, without credentials. */
export function attributesOfMessage(
  { method = '', name = '' }: ShownTool,
  { request }: Attributes,
): SpanAttributes {
  const [version = ''] = [request?.headers.get('mcp-protocol-version') ?? []].flat()
  return mcpSpanAttributes([namedCall(method, name, version)], hider(request ?? NO_REQUEST))
}
