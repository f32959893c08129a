// Sends one HTTP request exactly as written: normalises no path, joins no headers and follows no redirect.

import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: string
}

export interface Request {
  readonly method?: string
  /** An array alternates names and values, so that a name can occur twice. */
  readonly headers?: Record<string, string> | readonly string[]
  readonly body?: string
  /** Makes it https: the server name (SNI), the trusted authority and a certificate (PEM). */
  readonly tls?: Readonly<Partial<Record<'servername' | 'ca' | 'cert' | 'key', string>>>
}

/** Sends a request on a new connection. */
export function send(origin: string, path: string, request: Request = {}): Promise<Answer> {
  const { protocol, hostname, port } = new URL(origin)
  const options: RequestOptions = {
    hostname,
    port,
    path,
    method: request.method ?? 'GET',
    headers: request.headers ?? {},
    agent: false,
    ...request.tls,
  }
  if (Array.isArray(options.headers)) options.headers = withFraming(options.headers, origin)
  const start = protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const outgoing = start(options, (incoming) => {
      const { statusCode = 0, headers, rawHeaders } = incoming
      text(incoming).then((body) => {
        resolve({ status: statusCode, headers, rawHeaders, body })
      }, reject)
    })
    outgoing.on('error', reject)
    outgoing.end(request.body)
  })
}

/** Adds a missing Host header, because Node adds it only to headers given as an object. */
function withFraming(headers: readonly string[], origin: string): string[] {
  const names = headers.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  return names.includes('host') ? [...headers] : ['host', new URL(origin).host, ...headers]
}

export const bearer = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
})

/** A JSON-RPC initialize request, as an MCP client would send it. */
export const initialize = {
  method: 'POST',
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    },
  }),
} as const
