// Makes one call to an API server with raw JSON, which no client library reads or rewrites.

import { request } from 'node:https'
import { setTimeout } from 'node:timers/promises'

export interface AnyObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name?: string
    readonly namespace?: string | undefined
    readonly resourceVersion?: string
    readonly generation?: number
  }
  readonly spec?: unknown
  readonly status?: unknown
}

export interface Call {
  readonly server: string
  readonly token: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds after which the API server asks to be called again. */
    readonly retryAfter?: number,
  ) {
    super(`HTTP ${String(status)}: ${message}`)
  }
}

const MOST_TRIES = 30

/** Calls again as long as the API server asks for it (429), as it does while it fills the cache of a kind that is new. */
export async function callApi(call: Call): Promise<AnyObject> {
  for (let tries = 1; ; tries += 1)
    try {
      return await callOnce(call)
    } catch (error) {
      const { status, retryAfter } = error instanceof ApiError ? error : {}
      if (status !== 429 || retryAfter === undefined || tries === MOST_TRIES) throw error
      await setTimeout(retryAfter * 1_000)
    }
}

const callOnce = async (call: Call): Promise<AnyObject> => answerOf(call.path, await textOf(call))

/** Resolves to the body of the answer. Rejects with an ApiError unless it is 2xx. */
export const textOf = ({ server, token, method, path, body }: Call): Promise<string> =>
  new Promise((resolve, reject) => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { authorization: `Bearer ${token}`, 'content-type': type }
    const options = { method, headers, rejectUnauthorized: false }
    const call = request(server + path, options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', () => {
        const { statusCode = 0, headers } = response
        const retryAfter = Number(headers['retry-after'] ?? NaN)
        const pause = Number.isNaN(retryAfter) ? undefined : retryAfter
        if (statusCode < 200 || statusCode > 299)
          reject(new ApiError(statusCode, messageOf(text), pause))
        else resolve(text)
      })
    })
    call.on('error', reject)
    call.end(body === undefined ? undefined : JSON.stringify(body))
  })

/** The answer of a watch has its events as items. */
function answerOf(path: string, text: string): AnyObject {
  if (!path.includes('watch=1')) return (text.startsWith('{') ? JSON.parse(text) : {}) as AnyObject
  const lines = text.split('\n').filter((line) => line !== '')
  return { items: lines.map((line) => JSON.parse(line) as unknown) } as object as AnyObject
}

/**
 * Retries on a conflict (409).
 * @param write reads an object and writes it.
 */
export async function withoutConflict(write: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await write()
      return
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 409) throw error
    }
  }
}

const messageOf = (text: string): string =>
  text.startsWith('{') ? ((JSON.parse(text) as { message?: string }).message ?? text) : text

const PLURALS: Readonly<Record<string, string>> = {
  GatewayClass: 'gatewayclasses',
  ProxyPolicy: 'proxypolicies',
  ProxyParameters: 'proxyparameters',
  BackendTLSPolicy: 'backendtlspolicies',
  NetworkPolicy: 'networkpolicies',
  AuthorizationPolicy: 'authorizationpolicies',
  EnvoyProxy: 'envoyproxies',
  SecurityPolicy: 'securitypolicies',
  EnvoyExtensionPolicy: 'envoyextensionpolicies',
  EnvoyPatchPolicy: 'envoypatchpolicies',
  ClientTrafficPolicy: 'clienttrafficpolicies',
  BackendTrafficPolicy: 'backendtrafficpolicies',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
}
const CLUSTER_SCOPED = new Set([
  'GatewayClass',
  'Namespace',
  'Node',
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
])

/** Returns the path of an object; the namespace defaults to "default". */
export function pathOf({ apiVersion, kind, metadata }: AnyObject): string {
  const prefix = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const plural = PLURALS[kind] ?? `${kind.toLowerCase()}s`
  const where = CLUSTER_SCOPED.has(kind) ? '' : `/namespaces/${metadata.namespace ?? 'default'}`
  return `${prefix}${where}/${plural}/${metadata.name ?? ''}`
}
