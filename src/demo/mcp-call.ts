// One call of the tool echo over MCP's streamable HTTP: initialize, tell that it is initialized, call, end the session.

const PROTOCOL_VERSION = '2025-11-25'

export interface ToolAnswer {
  /** The last answer: of the tool call, or of what was refused before it. */
  readonly response: Response
  /** What the tool said. */
  readonly text?: string
}

export async function callTool(url: string, token?: string): Promise<ToolAnswer> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }
  const post = (message: object): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const clientInfo = { name: 'gatehouse-tour', version: '1' }
  const params = { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo }
  const opened = await post({ id: 1, method: 'initialize', params })
  const session = opened.headers.get('mcp-session-id')
  await opened.text()
  if (!opened.ok || session === null) return { response: opened }
  headers['mcp-session-id'] = session
  headers['mcp-protocol-version'] = PROTOCOL_VERSION
  await (await post({ method: 'notifications/initialized' })).text()
  const echo = { name: 'echo', arguments: { message: 'hello from the tour' } }
  const response = await post({ id: 2, method: 'tools/call', params: echo })
  const text = toolText(await response.text())
  await (await fetch(url, { method: 'DELETE', headers })).text()
  return { response, ...(text !== undefined && { text }) }
}

/** From a JSON body or the data of a server-sent event. */
function toolText(body: string): string | undefined {
  const data = /^data: (.*"result".*)$/m.exec(body)?.[1] ?? body
  const message = JSON.parse(data) as { result?: { content?: { text?: string }[] } }
  return message.result?.content?.[0]?.text
}
