// An MCP client over streamable HTTP that sends JSON-RPC messages one at a time, in the session that the server opens.

/** Time limit for an answer. */
const TIMEOUT_MS = 10_000
const PROTOCOL_VERSION = '2025-11-25'

/** An answer of an MCP server. */
export interface McpAnswer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON of the answer or of its server-sent event; undefined if there is none. */
  readonly body: unknown
}

/** Sends one message, an object with "jsonrpc", to the MCP server. Rejects when there is no answer. */
export type SendMessage = (message: object) => Promise<McpAnswer>

/** Creates an MCP client. Returns a function that sends a message. */
export function mcpClient(url: string, token?: string): SendMessage {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': PROTOCOL_VERSION,
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  return async (message) => {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const session = response.headers.get('mcp-session-id')
    if (session !== null) headers['mcp-session-id'] = session
    return {
      status: response.status,
      headers: response.headers,
      body: parse(await response.text()),
    }
  }
}

/** The first message of a session. */
export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: PROTOCOL_VERSION,
    capabilities: {},
    clientInfo: { name: 'tour', version: '1' },
  },
} as const

/** The notification after the answer to the first message. */
export const INITIALIZED = { jsonrpc: '2.0', method: 'notifications/initialized' } as const

/** Returns a call of the tool "echo". */
export const callEcho = (message: string): object => ({
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'echo', arguments: { message } },
})

/** body: JSON, or server-sent events of which the last one counts. */
function parse(body: string): unknown {
  const data = [...body.matchAll(/^data: (.+)$/gm)].at(-1)?.[1] ?? body
  try {
    return JSON.parse(data)
  } catch {
    return undefined
  }
}
