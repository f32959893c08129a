// The headers of a guarded request, and the claims of its token → what expressions read, and why its body cannot be read.

import { type Attributes, type LazyValue, lazyValue } from '../../cel/attributes.js'
import type { Metadata } from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import type { HttpHeaders } from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import type { Json } from '../../ir/json.js'
import { CLAIMS_KEY, CLAIMS_NAMESPACE, EXACT_CLAIMS_KEY } from '../../ir/names.js'
import { requestScheme } from '../../oauth/base-url.js'
import { headersOf } from '../stream/request-view.js'
import { isJsonType } from './content-type.js'

export interface GuardedRequest {
  /** request, and jwt where a token was verified. */
  readonly attributes: Attributes
  /** Bytes, as announced. */
  readonly contentLength: number | undefined
  /** Why its body is not JSON that we read, whatever it holds. */
  readonly problem: string | undefined
}

export function guardedRequest(message: HttpHeaders, metadata?: Metadata): GuardedRequest {
  const headers = headersOf(message)
  const one = (name: string): string => headers.get(name)?.[0] ?? ''
  const { [CLAIMS_KEY]: claims, [EXACT_CLAIMS_KEY]: exact } =
    metadata?.filterMetadata[CLAIMS_NAMESPACE] ?? {}
  return {
    attributes: {
      request: {
        method: one(':method'),
        host: one(':authority'),
        scheme: requestScheme({
          scheme: one(':scheme'),
          forwardedProto: headers.get('x-forwarded-proto')?.join(),
        }),
        pathAndQuery: one(':path'),
        version: '',
        headers: new Map([...headers].map(([name, values]) => [name, oneOrAll(values)])),
      },
      ...(claims === undefined ? {} : { jwt: claimsValue(claims, exact) }),
    },
    contentLength: /^\d{1,15}$/.test(one('content-length'))
      ? Number(one('content-length'))
      : undefined,
    problem: problemOf(headers.get('content-type') ?? [], headers.get('content-encoding') ?? []),
  }
}

const claimsValue = (claims: Json, exact: unknown): LazyValue =>
  lazyValue(claims, typeof exact === 'string' ? exact : undefined)

function oneOrAll(values: readonly string[]): string | readonly string[] {
  const [first, ...others] = values
  return first !== undefined && others.length === 0 ? first : values
}

/** A content type that lies could make the LLM read something else in the same bytes. */
function problemOf(types: readonly string[], encodings: readonly string[]): string | undefined {
  if (types.length > 1 || !types.every(isJsonType))
    return 'its content type is not application/json'
  return encodings.some((encoding) => encoding.trim().toLowerCase() !== 'identity')
    ? 'it is compressed'
    : undefined
}
