// A server of JSON documents (key sets, discovery). Tests can make its answers late, missing, invalid, huge or slow.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type HttpServer, type HttpServerOptions, startHttpServer } from './http-server.js'

export type Reply = (request: IncomingMessage, response: ServerResponse) => void

export interface DocumentServer extends HttpServer {
  /** Path and query of each request, with its Host header. */
  readonly requests: { readonly path: string; readonly host: string }[]
  serve(path: string, reply: object | Reply): void
}

export async function startDocumentServer(
  options: HttpServerOptions = {},
): Promise<DocumentServer> {
  const requests: { path: string; host: string }[] = []
  const replies = new Map<string, Reply>()
  const server = await startHttpServer((request, response) => {
    const path = request.url ?? ''
    requests.push({ path, host: request.headers.host ?? '' })
    const reply = replies.get(path) ?? ((_request, missing) => missing.writeHead(404).end())
    reply(request, response)
  }, options)
  return {
    ...server,
    requests,
    serve: (path, reply) => {
      replies.set(path, typeof reply === 'function' ? (reply as Reply) : json(reply))
    },
  }
}

export const json =
  (document: object, status = 200): Reply =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document))
  }
