// Sends one request over an open connection (HTTP/1.1) and reads the answer, whose size is limited as it arrives.

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { Client, type Dispatcher } from 'undici'
import { ByteCollector, joined } from '../byte-collector.js'
import { codeOf, RemoteError } from './connect/remote-failure.js'

/** A request, and the limit of its answer. */
export interface Exchange {
  readonly url: URL
  readonly method: 'GET' | 'POST'
  /** Headers with lower-case names, including host. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/** An answer with its whole body. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Sends the request and always closes the socket. Rejects with RemoteError: redirect, too-large, encoding, broken. */
export async function exchange(socket: Duplex, request: Exchange): Promise<Answer> {
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

/** Returns a client that uses the given socket and has no timeouts, because the caller sets the deadline. */
const clientOver = (socket: Duplex, url: URL): Client =>
  new Client(`http://${url.host}`, {
    headersTimeout: 0,
    bodyTimeout: 0,
    // A synchronous callback would be lost, because the client is still busy when it asks. It uses only what streams have.
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket as Socket)),
  })

/** Reads the whole answer. Rejects with RemoteError (redirect, too-large, encoding) or an error of undici. */
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
  const bytes = new ByteCollector()
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes.add(chunk)
    if (bytes.size > maxBytes) throw new RemoteError({ type: 'too-large', maxBytes })
  }
  return joined(bytes.take())
}

const gunzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)

/** Decodes a body. Requests ask for identity, but gzip is accepted as well. @throws RemoteError */
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
