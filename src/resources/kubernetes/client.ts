// The API server as plain JSON: one call, or a watch. Who we are there is the library's work: KUBECONFIG, or the pod's
// service account, whose token it reads again when it changes. Its KubernetesObjectApi is left: it writes no status (a
// subresource), keeps what it has discovered for as long as it lives, and reads an answer of any size.

import { request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { KubeConfig, Watch } from '@kubernetes/client-node'
import { GatehouseError } from '../../errors.js'
import { isJsonObject, type JsonObject, parseJson } from '../../ir/json.js'
import { createKeptAgent, type KeptAgent } from './agent.js'

export interface KubernetesClient {
  /** path: with its query. Rejects (KubernetesError) unless the answer is a JSON object with a status of 2xx. */
  call(method: 'GET' | 'POST' | 'PUT', path: string, body?: JsonObject): Promise<JsonObject>
  /** For ListWatch, which asks it again and again. */
  readonly watch: Watch
  /** Its address, for messages. */
  readonly server: string
}

/** What the API server, or the way to it, said. */
export class KubernetesError extends GatehouseError {
  readonly code = 'kubernetes_call'

  constructor(
    message: string,
    /** HTTP; absent: there was no answer. */
    readonly status?: number,
  ) {
    super(message)
    this.name = 'KubernetesError'
  }
}

/** How long a call may take in all; lists come in pages. */
const CALL_TIMEOUT_MS = 30_000
const MAX_ANSWER_BYTES = 128 * 1024 * 1024

/** What the library names when it has found no configuration. */
const NOBODY = { name: 'cluster', server: 'http://localhost:8080' }

/** Throws an Error for a person when the configuration names no API server. */
export function createKubernetesClient(): KubernetesClient {
  const config = new KubeConfig()
  config.loadFromDefault()
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
    watch: new Watch(config),
    call: (method, path, body) => callOnce({ config, server, agent }, { method, path, body }),
  }
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body: JsonObject | undefined
}

interface Connection {
  readonly config: KubeConfig
  readonly server: string
  readonly agent: KeptAgent
}

async function callOnce({ config, server, agent }: Connection, call: Call): Promise<JsonObject> {
  const options: RequestOptions = {
    method: call.method,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  }
  await config.applyToHTTPSOptions(options)
  options.agent = agent.instead(options.agent) as NonNullable<RequestOptions['agent']>
  const url = new URL(server.replace(/\/$/, '') + call.path)
  const answer = await exchange(url, options, call.body)
  const json = parseJson(answer.body)
  if (answer.status >= 200 && answer.status < 300 && isJsonObject(json)) return json
  throw new KubernetesError(describe(answer.status, json), answer.status)
}

interface Answer {
  readonly status: number
  readonly body: Uint8Array
}

const exchange = (
  url: URL,
  options: RequestOptions,
  body: JsonObject | undefined,
): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const fail = (error: Error) => reject(new KubernetesError(reasonOf(error)))
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest
    const request = send(url, options, (response) => {
      const pieces: Uint8Array[] = []
      let size = 0
      response.on('data', (piece: Uint8Array) => {
        size += piece.length
        if (size > MAX_ANSWER_BYTES) request.destroy(new Error('the answer is too large'))
        else pieces.push(piece)
      })
      response.on('error', fail)
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces) }),
      )
    })
    request.on('error', fail)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

const reasonOf = (error: Error): string =>
  error.name === 'TimeoutError' || error.name === 'AbortError'
    ? 'no answer in time'
    : ((error as NodeJS.ErrnoException).code ?? error.message)

/** The API server says why in a Status (meta/v1). */
const describe = (status: number, json: ReturnType<typeof parseJson>): string =>
  isJsonObject(json) && typeof json['message'] === 'string'
    ? `HTTP ${status}: ${json['message']}`
    : `HTTP ${status}`
