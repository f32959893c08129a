// JSON client of the API server: single calls and watches. The library handles credentials (KUBECONFIG, or the pod's
// service account, whose token it rereads when it changes). Its KubernetesObjectApi is not used: it cannot write the
// status subresource, caches discovery forever, and reads answers of any size.

import { request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import type { KubeConfig, Watch } from '@kubernetes/client-node'
import { GatehouseError } from '../../../kit/errors.js'
import { isJsonObject, type JsonObject, parseJson } from '../../../model/json.js'
import { createWatch, loadConfig } from './client-library.js'
import { createKeptAgent, keepingConnections, type KeptAgent } from './kept-connections.js'

/** Calls the API server. */
export interface KubernetesClient {
  /**
   * Calls the API server; path includes the query. PATCH is a server-side apply. Rejects (KubernetesError) unless a
   * JSON object with 2xx returns, and (AnswerTooLargeError) if the answer has more than maxBytes, default 128 MiB.
   */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: JsonObject,
    maxBytes?: number,
  ): Promise<JsonObject>
  /** The watch for ListWatch, which starts it again and again. */
  readonly watch: Watch
  /** The server's address, for messages. */
  readonly server: string
}

/** An error reported by the API server or the connection to it. */
export class KubernetesError extends GatehouseError {
  readonly code = 'kubernetes_call'

  constructor(
    message: string,
    /** The HTTP status; absent if there was no answer. */
    readonly status?: number,
    /** Milliseconds after which the API server asks to be called again (429, 503); absent: it does not say. */
    readonly retryAfterMs?: number,
  ) {
    super(message)
    this.name = 'KubernetesError'
  }
}

/** An answer that was not read to its end. */
export class AnswerTooLargeError extends KubernetesError {
  constructor() {
    super('the answer is too large')
  }
}

/** Timeout of a whole call, in milliseconds; lists are paged. */
const CALL_TIMEOUT_MS = 30_000
const MAX_ANSWER_BYTES = 128 * 1024 * 1024

/** The cluster that the library returns if it has found no configuration. */
const NOBODY = { name: 'cluster', server: 'http://localhost:8080' }

/** Creates the client. Throws an Error with a readable message if the configuration names no API server. */
export function createKubernetesClient(): KubernetesClient {
  const config = loadConfig()
  const { name, server } = config.getCurrentCluster() ?? {}
  if (
    server === undefined ||
    !URL.canParse(server) ||
    (name === NOBODY.name && server === NOBODY.server)
  )
    throw new Error('no API server is configured: set KUBECONFIG, or run in a pod')
  const agent = createKeptAgent()
  return {
    server,
    watch: createWatch(keepingConnections(config)),
    call: (method, path, body, maxBytes = MAX_ANSWER_BYTES) =>
      callOnce({ config, server, agent }, { method, path, body, maxBytes }),
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body: JsonObject | undefined
  readonly maxBytes: number
}

interface Connection {
  readonly config: KubeConfig
  readonly server: string
  readonly agent: KeptAgent
}

async function callOnce({ config, server, agent }: Connection, call: Call): Promise<JsonObject> {
  const options: RequestOptions = {
    method: call.method,
    headers: { accept: 'application/json', 'content-type': contentTypeOf(call.method) },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  }
  await config.applyToHTTPSOptions(options)
  options.agent = agent.agentFor(options)
  const url = new URL(server.replace(/\/$/, '') + call.path)
  const answer = await exchange(url, options, call)
  const json = parseJson(answer.body)
  if (answer.status >= 200 && answer.status < 300 && isJsonObject(json)) return json
  throw new KubernetesError(
    describe(answer.status, json),
    answer.status,
    retryAfterMs(answer.retryAfter),
  )
}

/** Longest pause that the API server may ask for, in milliseconds. */
const LONGEST_RETRY_AFTER = 60_000

/** Reads the header Retry-After in seconds, the only form that the API server writes. */
const retryAfterMs = (header: string | undefined): number | undefined =>
  header !== undefined && /^\d{1,9}$/.test(header)
    ? Math.min(Number(header) * 1000, LONGEST_RETRY_AFTER)
    : undefined

/** Returns the pause that the API server asks for, in milliseconds; 0: none. */
export const pauseAskedFor = (error: unknown): number =>
  error instanceof KubernetesError ? (error.retryAfterMs ?? 0) : 0

/** JSON is YAML: an apply patch has no content type for JSON alone. */
const contentTypeOf = (method: string): string =>
  method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json'

interface Answer {
  readonly status: number
  readonly body: Uint8Array
  readonly retryAfter: string | undefined
}

const exchange = (url: URL, options: RequestOptions, { body, maxBytes }: Call): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(error instanceof KubernetesError ? error : new KubernetesError(reasonOf(error)))
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest
    const request = send(url, options, (response) => {
      const pieces: Uint8Array[] = []
      let size = 0
      response.on('data', (piece: Uint8Array) => {
        size += piece.length
        if (size > maxBytes) request.destroy(new AnswerTooLargeError())
        else pieces.push(piece)
      })
      response.on('error', fail)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(pieces),
          retryAfter: response.headers['retry-after'],
        }),
      )
    })
    request.on('error', fail)
    const text = body === undefined ? '' : JSON.stringify(body)
    // Node frames the body of a DELETE only if its length is given.
    if (body !== undefined) request.setHeader('content-length', Buffer.byteLength(text))
    request.end(text)
  })

const reasonOf = (error: Error): string =>
  error.name === 'TimeoutError' || error.name === 'AbortError'
    ? 'no answer in time'
    : ((error as NodeJS.ErrnoException).code ?? error.message)

/** Describes an error answer, with the message of its Status (meta/v1) if there is one. */
const describe = (status: number, json: ReturnType<typeof parseJson>): string =>
  isJsonObject(json) && typeof json['message'] === 'string'
    ? `HTTP ${status}: ${json['message']}`
    : `HTTP ${status}`
