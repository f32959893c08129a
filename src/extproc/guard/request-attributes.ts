// Extracts from a guarded request's headers and token claims what expressions read, and why its body cannot be read.

import type { Attributes, RequestAttributes } from '../../cel/attributes.js'
import { requestScheme } from '../../oauth/base-url.js'
import { claimsIn } from '../stream/own-metadata.js'
import type { Headers } from '../stream/process-message.js'
import { isJsonType } from './content-type.js'

/** What the headers of a guarded request tell. */
export interface GuardedRequest {
  /** request, and jwt if a token was verified. */
  readonly attributes: Attributes
  /** Announced length in bytes. */
  readonly contentLength: number | undefined
  /** Why the headers rule out a body of readable JSON; undefined: they do not. */
  readonly problem: string | undefined
}

/** metadata: an encoded Metadata. @throws {Error} when it cannot be decoded. */
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

/** Reads headers lazily: most webhooks have no expressions. */
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

  valuesOf(name: string): readonly string[] {
    return this.all.get(name) ?? []
  }

  private one(name: string): string {
    return this.all.get(name)?.[0] ?? ''
  }
}

function oneOrAll(values: readonly string[]): string | readonly string[] {
  const [first, ...others] = values
  return first !== undefined && others.length === 0 ? first : values
}

/**
 * Returns why the body cannot be read. With a wrong content type, the LLM might read something else in the same bytes.
 */
function problemOf(types: readonly string[], encodings: readonly string[]): string | undefined {
  if (types.length > 1 || !types.every(isJsonType))
    return 'its content type is not application/json'
  return encodings.some((encoding) => encoding.trim().toLowerCase() !== 'identity')
    ? 'it is compressed'
    : undefined
}
