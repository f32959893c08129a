// Envoy's header list of a request → the few values that the well-known documents depend on.

import type { HttpHeaders } from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { HOPS_HEADER } from '../../ir/hops.js'
import type { RequestAddress } from '../../oauth/base-url.js'

export interface RequestView {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly address: RequestAddress
  /** Bytes, as announced; undefined: not announced. */
  readonly contentLength?: number | undefined
  /** What it says of the times that it has passed a gateway (ir/hops.ts). */
  readonly hops?: string | undefined
}

/** undefined: not a request, a pseudo-header is missing or stands there twice. */
export function requestView(message: HttpHeaders): RequestView | undefined {
  const headers = headersOf(message)
  const method = only(headers.get(':method'))
  const path = only(headers.get(':path'))
  const authority = only(headers.get(':authority'))
  if (method === undefined || path === undefined || authority === undefined) return undefined
  return {
    method,
    path,
    address: {
      scheme: only(headers.get(':scheme')) ?? '',
      authority,
      forwardedProto: headers.get('x-forwarded-proto')?.join(','),
    },
    hops: headers.get(HOPS_HEADER)?.join(''),
    contentLength: contentLengthOf(only(headers.get('content-length'))),
  }
}

/** By lower-case name, as Latin-1. Envoy fills raw_value, older ones value. */
export function headersOf(message: HttpHeaders): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, string[]>()
  for (const { key, value, rawValue } of message.headers?.headers ?? []) {
    const name = key.toLowerCase()
    const text = rawValue.length > 0 ? Buffer.from(rawValue).toString('latin1') : value
    const values = byName.get(name)
    if (values === undefined) byName.set(name, [text])
    else values.push(text)
  }
  return byName
}

const only = (values: readonly string[] | undefined): string | undefined =>
  values?.length === 1 ? values[0] : undefined

const contentLengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
