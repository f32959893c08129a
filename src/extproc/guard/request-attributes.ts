// Extracts from a guarded request's headers and token claims what expressions read, and why its body cannot be read.

import type { Attributes, RequestAttributes } from '../../extauthz/cel/attributes.js'
import { requestScheme } from '../../extauthz/oauth/base-url.js'
import { requestEncoding } from '../encodings/decode-reply.js'
import { claimsIn } from '../session/own-metadata.js'
import type { Headers } from '../session/process-message.js'

/** What the headers of a guarded request tell. */
export interface GuardedRequest {
  /** request, and jwt if a token was verified. */
  readonly attributes: Attributes
  /** Announced length in bytes. */
  readonly contentLength: number | undefined
  /** Encoding of the body; "": none. undefined: one that is not decoded. */
  readonly encoding: string | undefined
  /** Why the headers rule out a body of readable JSON; undefined: they do not. */
  readonly problem: string | undefined
}

/** metadata: an encoded Metadata. @throws {Error} when it cannot be decoded. */
export function guardedRequest(headers: Headers, metadata?: Buffer): GuardedRequest {
  const claims = metadata === undefined ? undefined : claimsIn(metadata)
  const encoding = requestEncoding(headers.get('content-encoding') ?? [])
  const contentLength = headers.get('content-length')?.[0] ?? ''
  return {
    attributes: {
      request: new Request(headers),
      ...(claims !== undefined && { jwt: claims }),
    },
    contentLength: /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : undefined,
    encoding,
    problem: problemOf(headers.get('content-type') ?? [], encoding),
  }
}

/** Returns the headers of a request whose body has been decoded, as far as they are read. */
export const decodedHeaders = (headers: Headers): Headers =>
  new Map([...headers].filter(([name]) => name !== 'content-encoding' && name !== 'content-length'))

/** Reads headers lazily: most webhooks have no expressions. */
class Request implements RequestAttributes {
  readonly method: string
  readonly host: string
  readonly pathAndQuery: string
  readonly version = ''
  #read: RequestAttributes['headers'] | undefined

  constructor(private readonly all: Headers) {
    this.method = this.#one(':method')
    this.host = this.#one(':authority')
    this.pathAndQuery = this.#one(':path')
  }

  get scheme(): string {
    return requestScheme({
      scheme: this.#one(':scheme'),
      forwardedProto: this.all.get('x-forwarded-proto')?.join(),
    })
  }

  get headers(): RequestAttributes['headers'] {
    return (this.#read ??= new Map([...this.all].map(([name, all]) => [name, oneOrAll(all)])))
  }

  valuesOf(name: string): readonly string[] {
    return this.all.get(name) ?? []
  }

  #one(name: string): string {
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
function problemOf(types: readonly string[], encoding: string | undefined): string | undefined {
  if (types.length > 1 || !types.every(isJsonType))
    return 'its content type is not application/json'
  return encoding === undefined
    ? 'its Content-Encoding is not one alone of gzip, deflate, br and zstd'
    : undefined
}

// Checks that a Content-Type is JSON in UTF-8 and nothing else. Linear and bounded, because clients control it.

/** Longer than any JSON media type with its charset. */
const MAX_LENGTH = 256

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json$/i
const UTF8 = /^(?:utf-?8|"utf-?8")$/i

/** Whether it is application/json or a type with the suffix +json, with no parameter except charset=utf-8. */
export function isJsonType(contentType: string): boolean {
  if (contentType === 'application/json') return true
  if (contentType.length > MAX_LENGTH) return false
  const [type = '', parameter = '', ...more] = contentType.split(';').map(withoutBlanks)
  // A trailing ";" adds an empty parameter.
  const isWhole = more.length === 0 || (more.length === 1 && more[0] === '' && parameter !== '')
  return isWhole && JSON_TYPE.test(type) && (parameter === '' || isUtf8(parameter))
}

function isUtf8(parameter: string): boolean {
  const [name = '', value = '', ...more] = parameter.split('=').map(withoutBlanks)
  return name.toLowerCase() === 'charset' && UTF8.test(value) && more.length === 0
}

/** Trims optional whitespace only (RFC 9110 section 5.6.3); trim() would also remove Latin-1 characters. */
function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && isBlank(text, start)) start += 1
  while (end > start && isBlank(text, end - 1)) end -= 1
  return text.slice(start, end)
}

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t'
