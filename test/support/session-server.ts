// An MCP server with sessions, for tests of what becomes of them: one tool, which says what it is told.

import type { ServerResponse } from 'node:http'
import type { Recorded } from './backend.js'

/** How the server writes its answers to requests. */
export type SessionForm = 'JSON' | 'events'

export interface SessionServer {
  /** Ids of the sessions that were made and not ended. */
  readonly sessions: ReadonlySet<string>
  /** Value of Mcp-Session-Id in each request that arrived; undefined: it had none. */
  readonly asked: readonly (string | undefined)[]
  reply(this: void, request: Recorded, response: ServerResponse): void
}

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly arguments?: { readonly message?: string } }
}

const HEADER = 'mcp-session-id'

/** What the server does. */
export interface SessionServerOptions {
  readonly form: SessionForm
  /** What initialize says. */
  readonly instructions?: string
  /** Whether each reply names the session, as those of the official SDKs do. */
  readonly repeats?: boolean
}

export function sessionServer({
  form,
  instructions,
  repeats = false,
}: SessionServerOptions): SessionServer {
  const sessions = new Set<string>()
  const asked: (string | undefined)[] = []
  let count = 0
  const answer = (response: ServerResponse, message: object): void => {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message })
    if (form === 'JSON') response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    else
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`event: message\ndata: ${text}\n\n`)
  }
  const initialize = (id: unknown, response: ServerResponse): void => {
    const session = `session-${(count += 1)}`
    sessions.add(session)
    response.setHeader(HEADER, session)
    answer(response, {
      id,
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'sessions', version: '1' },
        ...(instructions !== undefined && { instructions }),
      },
    })
  }
  return {
    sessions,
    asked,
    reply: ({ method: verb, headers, body }, response) => {
      const session = headers[HEADER]?.toString()
      asked.push(session)
      const { id, method, params } = (verb === 'POST' ? JSON.parse(body) : {}) as Message
      if (method === 'initialize') return initialize(id, response)
      if (session === undefined || !sessions.has(session))
        return void response.writeHead(session === undefined ? 400 : 404).end()
      if (repeats) response.setHeader(HEADER, session)
      if (verb === 'GET') return void response.writeHead(405).end()
      if (verb === 'DELETE') sessions.delete(session)
      if (id === undefined) return void response.writeHead(verb === 'POST' ? 202 : 200).end()
      answer(response, {
        id,
        result: { content: [{ type: 'text', text: params?.arguments?.message ?? '' }] },
      })
    },
  }
}
