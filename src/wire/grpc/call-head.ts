// Reads the called method and the timeout from the head of a request.

import type { RequestHead } from '../http2/request-head.js'
import type { GrpcMethod, GrpcService } from './service.js'

/** What the head of a request asks for. */
export type CallHead =
  | { readonly type: 'call'; readonly method: GrpcMethod; readonly timeoutMs: number | undefined }
  | { readonly type: 'unimplemented' }
  | { readonly type: 'not-grpc' }

/** Methods by path: /SERVICE/METHOD. */
export type Methods = ReadonlyMap<string, GrpcMethod>

/** Returns the methods of services by path. */
export const methodsOf = (services: readonly GrpcService[]): Methods =>
  new Map(
    services.flatMap(({ name, methods }) =>
      Object.entries(methods).map(([method, served]) => [`/${name}/${method}`, served] as const),
    ),
  )

/** Returns all values of a header; name: in lower case. */
export function valuesOf({ fields }: RequestHead, name: string): readonly string[] {
  let values: string[] | undefined
  for (const field of fields)
    if (field[0] === name) {
      values ??= []
      values.push(field[1])
    }
  return values ?? NO_VALUES
}

const NO_VALUES: readonly string[] = []

/** Reads the head of a request. */
export function readCallHead(head: RequestHead, methods: Methods): CallHead {
  const [contentType = ''] = valuesOf(head, 'content-type')
  if (head.method !== 'POST' || !/^application\/grpc(?:$|[+;])/.test(contentType))
    return { type: 'not-grpc' }
  const method = methods.get(head.path)
  if (method === undefined) return { type: 'unimplemented' }
  const [timeout] = valuesOf(head, 'grpc-timeout')
  return {
    type: 'call',
    method,
    timeoutMs: timeout === undefined ? undefined : readTimeout(timeout),
  }
}

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
}
/** Longest timer of Node, about 25 days; a longer timeout counts as none. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** Returns the timeout in milliseconds; undefined if it is too long or invalid. */
function readTimeout(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? []
  const ms = Number(digits) * (UNIT_MS[unit ?? ''] ?? NaN)
  return ms <= MAX_TIMEOUT_MS ? ms : undefined
}
