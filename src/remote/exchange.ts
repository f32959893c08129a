// One request and its answer over an open connection (HTTP/1.1), with the body's size bounded as it comes.

import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { Client, type Dispatcher } from 'undici'
import { codeOf, RemoteError } from './remote-failure.js'

export interface Exchange {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  /** Lower-case names; host included. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Closes the socket in any case. Rejects with RemoteError: redirect, too-large, encoding, broken. */
export async function exchange(socket: Socket, request: Exchange): Promise<Answer> {
  const client = clientOver(socket, request.url)
  try {
    const answer = await client.request({
      method: request.method,
      path: request.url.pathname + request.url.search,
      headers: request.headers,
      body: request.body ?? null,
      signal: request.signal,
      reset: true,
    })
    return await receive(answer, request.maxBytes)
  } catch (error) {
    throw error instanceof RemoteError
      ? error
      : new RemoteError({ type: 'broken', code: codeOf(error) })
  } finally {
    socket.destroy()
    await client.destroy()
  }
}

/** The client never opens a connection: it is given this one. No timeouts of its own: the deadline is the caller's. */
const clientOver = (socket: Socket, url: URL): Client =>
  new Client(`http://${url.host}`, {
    headersTimeout: 0,
    bodyTimeout: 0,
    // The client is in the middle of its own work when it asks: an answer at once would be lost.
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket)),
  })

/** The whole answer. Rejects with RemoteError: redirect, too-large, encoding; or as undici does. */
async function receive(
  answer: Dispatcher.ResponseData<unknown>,
  maxBytes: number,
): Promise<Answer> {
  const status = answer.statusCode
  if (status >= 300 && status < 400) throw new RemoteError({ type: 'redirect', status })
  const headers = Object.fromEntries(
    Object.entries(answer.headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]),
  )
  const body = await readBody(answer.body, maxBytes)
  const encoding = headers['content-encoding'] ?? ''
  return { status, headers, body: await decodeBody(body, encoding, maxBytes) }
}

async function readBody(body: AsyncIterable<unknown>, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new RemoteError({ type: 'too-large', maxBytes })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

const gunzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)

/** We ask for identity; a server that answers in gzip all the same is understood. @throws RemoteError */
export async function decodeBody(
  body: Buffer,
  encoding: string,
  maxBytes: number,
): Promise<Uint8Array> {
  if (encoding === '' || encoding.toLowerCase() === 'identity') return body
  if (!/^(?:x-)?gzip$/i.test(encoding)) throw new RemoteError({ type: 'encoding' })
  try {
    return await gunzip(body, { maxOutputLength: maxBytes })
  } catch (error) {
    throw new RemoteError(
      codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
        ? { type: 'too-large', maxBytes }
        : { type: 'encoding' },
    )
  }
}
