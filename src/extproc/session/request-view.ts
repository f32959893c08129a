// Extracts from a request's headers the few values that the well-known documents depend on.

import type { RequestAddress } from '../../extauthz/oauth/base-url.js'
import { HOPS_HEADER } from '../../model/hops.js'
import type { HeadersPart } from './process-message.js'

/** The fields of a request that the well-known documents depend on. */
export interface RequestView {
  readonly method: string
  /** Path with the query. */
  readonly path: string
  readonly address: RequestAddress
  /** Announced length in bytes; undefined: not announced. */
  readonly contentLength?: number | undefined
  /** Value of its hops header: how often it has passed a gateway (ir/hops.ts). */
  readonly hops?: string | undefined
}

/** undefined: not a request, because a pseudo-header is missing or repeated. */
export function requestView({ headers }: HeadersPart): RequestView | undefined {
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

const only = (values: readonly string[] | undefined): string | undefined =>
  values?.length === 1 ? values[0] : undefined

const contentLengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
