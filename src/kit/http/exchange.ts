// One request and its answer over a client of undici's. The answer is limited as it arrives, and refused if it could be
// read in two ways.

import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { Dispatcher } from 'undici'
import { ByteCollector, joined } from '../byte-collector.js'
import { codeOf, RemoteError } from './connect/remote-failure.js'

/** A request with its whole body, and the limit of its answer. */
export interface SentRequest {
  readonly method: string
  /** Path with the query. */
  readonly path: string
  /** Headers with lower-case names, including host. "connection: close" closes the connection after the answer. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | undefined
  readonly maxBytes: number
  /** Whether an error status is an answer without a body if the rest of it fails, unless the call is given up. */
  readonly takesBareErrors?: boolean
}

/** An answer with its whole body, in few parts. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: readonly Buffer[]
}

/** Maximum interim answers before the answer (RFC 9110 section 15.2). */
const MOST_INTERIM = 16
/** Pieces of a body that are read before others have their turn. A piece may be a chunk of one byte. */
const MOST_PIECES = 4096

/** Receives one answer. */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with RemoteError: redirect, too-large, broken, and what the connection was ended with. */
  readonly answer: Promise<Answer>

  #resolve: (answer: Answer) => void = () => undefined
  #reject: (error: RemoteError) => void = () => undefined
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #interim = 0
  readonly #bytes = new ByteCollector()
  #pieces = 0

  /** hasFailed: whether the connection has. */
  constructor(
    private readonly request: SentRequest,
    private readonly hasFailed: () => boolean,
  ) {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  /** The client wants to call it. */
  onRequestStart(): void {}

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) {
      this.#interim += 1
      if (this.#interim > MOST_INTERIM) controller.abort(new RemoteError(BAD_ANSWER))
      return
    }
    this.#status = status
    this.#headers = headers
    const coding = headers['transfer-encoding']
    if (status >= 300 && status < 400)
      controller.abort(new RemoteError({ type: 'redirect', status }))
    else if (coding !== undefined && String(coding).toLowerCase() !== 'chunked')
      controller.abort(new RemoteError(BAD_ANSWER))
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBytes } = this.request
    if (this.#bytes.size + chunk.length > maxBytes)
      return controller.abort(new RemoteError({ type: 'too-large', maxBytes }))
    this.#bytes.add(chunk)
    this.#pieces += 1
    if (this.#pieces % MOST_PIECES !== 0) return
    // More of them would hold up everything else for long.
    controller.pause()
    setImmediate(() => controller.resume())
  }

  onResponseEnd(): void {
    // undici takes a reset for the end of an answer without a length.
    if (this.hasFailed()) this.#reject(new RemoteError({ type: 'broken', code: 'ECONNRESET' }))
    else this.#settle(this.#bytes.take())
  }

  onResponseError(_controller: unknown, error: unknown): void {
    const failed =
      error instanceof RemoteError
        ? error
        : new RemoteError({ type: 'broken', code: brokenCodeOf(error) })
    const isBare = this.request.takesBareErrors === true && this.#status >= 400
    if (isBare && failed.failure.type !== 'aborted') this.#settle([])
    else this.#reject(failed)
  }

  #settle(body: readonly Buffer[]): void {
    this.#resolve({ status: this.#status, headers: this.#headers, body })
  }
}

/** The code of an answer that is not HTTP, or is ambiguous. */
const BAD_ANSWER = { type: 'broken', code: 'EBADANSWER' } as const

/** Returns the code of an error of sockets or TLS; undici has others, for closed connections and for what it refuses. */
function brokenCodeOf(error: unknown): string {
  const code = codeOf(error)
  if (code === 'UND_ERR_SOCKET') return 'ECONNRESET'
  return /^E[A-Z]+$|^ERR_(?:SSL|TLS)_/.test(code) ? code : BAD_ANSWER.code
}

const gunzip = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.gunzip)

/**
 * Returns the decoded body of an answer. Requests ask for identity, but gzip is accepted as well. Rejects with RemoteError:
 * encoding, too-large.
 */
export async function decodedBody(
  { headers, body }: Answer,
  maxBytes: number,
): Promise<readonly Buffer[]> {
  const encoding = headers['content-encoding'] ?? ''
  if (/^(?:identity)?$/i.test(encoding)) return body
  if (!/^(?:x-)?gzip$/i.test(encoding)) throw new RemoteError({ type: 'encoding' })
  try {
    return [await gunzip(joined(body), { maxOutputLength: maxBytes })]
  } catch (error) {
    throw new RemoteError(
      codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
        ? { type: 'too-large', maxBytes }
        : { type: 'encoding' },
    )
  }
}
