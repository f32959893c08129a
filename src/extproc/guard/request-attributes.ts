// The headers of a guarded request, and the claims of its token → what expressions read, and why its body cannot be read.

import type { Attributes, RequestAttributes } from '../../cel/attributes.js'
import { requestScheme } from '../../oauth/base-url.js'
import { claimsIn } from '../stream/own-metadata.js'
import type { Headers } from '../stream/process-message.js'
import { isJsonType } from './content-type.js'

export interface GuardedRequest {
  /** request, and jwt where a token was verified. */
  readonly attributes: Attributes
  /** Bytes, as announced. */
  readonly contentLength: number | undefined
  /** Why its body is not JSON that we read, whatever it holds. */
  readonly problem: string | undefined
}

/** metadata: an encoded Metadata. @throws {Error} it cannot be read. */
export function guardedRequest(headers: Headers, metadata?: Buffer): GuardedRequest {
  const claims = metadata === undefined ? undefined : claimsIn(metadata)
  const contentLength = headers.get('content-length')?.[0] ?? ''
  return {
    attributes: {
      request: new Request(headers),
      ...(claims !== undefined && { jwt: claims }),
    },
    contentLength: /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : undefined,
    problem: problemOf(headers.get('content-type') ?? [], headers.get('content-encoding') ?? []),
  }
}

/** Most webhooks have no expressions: nothing is made of a header before one reads it. */
class Request implements RequestAttributes {
  readonly method: string
  readonly host: string
  readonly pathAndQuery: string
  readonly version = ''
  private read: RequestAttributes['headers'] | undefined

  constructor(private readonly all: Headers) {
    this.method = this.one(':method')
    this.host = this.one(':authority')
    this.pathAndQuery = this.one(':path')
  }

  get scheme(): string {
    return requestScheme({
      scheme: this.one(':scheme'),
      forwardedProto: this.all.get('x-forwarded-proto')?.join(),
    })
  }

  get headers(): RequestAttributes['headers'] {
    return (this.read ??= new Map([...this.all].map(([name, all]) => [name, oneOrAll(all)])))
  }

  private one(name: string): string {
    return this.all.get(name)?.[0] ?? ''
  }
}

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
