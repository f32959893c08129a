// Span attributes for MCP traffic, as OpenTelemetry's semantic conventions for MCP and generative AI define them.

/** What one message asks for, or answers. "": nothing of this kind. */
export interface TracedCall {
  readonly method: string
  readonly toolName: string
  readonly promptName: string
  readonly resourceUri: string
  readonly protocolVersion: string
}

/**
 * Returns the attributes of messages that share a span. A value that they do not share is left out.
 * hide: hides credentials, and truncates.
 */
export function mcpSpanAttributes(
  calls: readonly TracedCall[],
  hide: (text: string) => string,
): Readonly<Record<string, string | undefined>> {
  const only = (values: readonly string[]): string | undefined => {
    const [value = '', ...others] = new Set(values)
    return value === '' || others.length > 0 ? undefined : hide(value)
  }
  const tool = only(calls.map(({ toolName }) => toolName))
  return {
    'mcp.method.name': only(calls.map(({ method }) => method)),
    'mcp.protocol.version': only(calls.map(({ protocolVersion }) => protocolVersion)),
    'mcp.tool.name': tool,
    'gen_ai.tool.name': tool,
    'gen_ai.operation.name': tool === undefined ? undefined : 'execute_tool',
    'gen_ai.prompt.name': only(calls.map(({ promptName }) => promptName)),
    'mcp.resource.uri': only(calls.map(({ resourceUri }) => withoutQuery(resourceUri))),
  }
}

/** Query and fragment may hold secrets. */
const withoutQuery = (uri: string): string => uri.split(/[?#]/, 1)[0] ?? ''

/** Methods whose subject is a resource. */
const OF_RESOURCES: ReadonlySet<string> = new Set([
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Returns the call of a method that names its subject. */
export const namedCall = (method: string, name: string, protocolVersion = ''): TracedCall => ({
  method,
  protocolVersion,
  toolName: method === 'tools/call' ? name : '',
  promptName: method === 'prompts/get' ? name : '',
  resourceUri: OF_RESOURCES.has(method) ? name : '',
})
