// A proxy for programs that cannot send a token: adds one to every request and changes nothing else.

import { request } from 'node:http'
import { type HttpServer, startHttpServer } from '../../support/http-server.js'

/**
 * Rewrites Host only if it names the proxy itself, because a foreign Host is part of a test.
 * @param target an origin.
 */
export async function startInjectingProxy(target: string, token: string): Promise<HttpServer> {
  const { hostname, port, host } = new URL(target)
  const proxy: HttpServer = await startHttpServer((incoming, outgoing) => {
    const own = incoming.headers.host === `127.0.0.1:${String(proxy.port)}`
    const forwarded = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      agent: false,
      headers: {
        ...incoming.headers,
        ...(own && { host }),
        authorization: `Bearer ${token}`,
      },
    })
    forwarded.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  return proxy
}
