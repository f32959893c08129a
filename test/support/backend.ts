// A backend that records requests and answers as the test asks.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { type HttpServer, type HttpServerOptions, startHttpServer } from './http-server.js'

export interface Recorded {
  readonly method: string
  /** Path and query as received. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Names and values alternately, as received. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

export interface Backend extends HttpServer {
  readonly requests: Recorded[]
  /** Sets the answer from now on; the default is 200 with the backend's name. */
  answer(reply: (request: Recorded, response: ServerResponse) => void): void
}

export async function startBackend(
  name = 'backend',
  options: HttpServerOptions = {},
): Promise<Backend> {
  const requests: Recorded[] = []
  let reply = (_request: Recorded, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(name)
  }
  const server = await startHttpServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = request
      const recorded = { method, url, headers, rawHeaders, body }
      requests.push(recorded)
      reply(recorded, response)
    })
  }, options)
  return { ...server, requests, answer: (next) => (reply = next) }
}
