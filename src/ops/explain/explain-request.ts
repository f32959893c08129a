// Reads the request to explain, as the command line and the admin address describe it.

import { isIP } from 'node:net'
import { err, ok, type Result } from '../../kit/result.js'
import type { Field } from './routing/client-request.js'
import { hostNameOf } from './routing/client-request.js'

/** A request to explain. */
export interface ExplainRequest {
  readonly method: string
  readonly scheme: 'http' | 'https'
  readonly authority: string
  /** Path and query as a client would send them. */
  readonly target: string
  /** Includes Authorization if a token was given. */
  readonly headers: readonly Field[]
  readonly body?: Uint8Array
  /** Port of the listener; absent: the port of the URL. */
  readonly listenerPort?: number
  /** NAMESPACE/NAME of the Gateway; absent: any. */
  readonly gateway?: string
  /** IP address of the client. */
  readonly sourceAddress: string
}

/** The description of a request, as strings. */
export interface RequestDescription {
  /** "METHOD URL". */
  readonly request: string
  /** "Name: value" each. */
  readonly headers: readonly string[]
  /** Without "Bearer"; absent: none. */
  readonly token?: string | undefined
  readonly body?: Uint8Array | undefined
  readonly listenerPort?: number | undefined
  readonly gateway?: string | undefined
  readonly sourceAddress?: string | undefined
}

const REQUEST = /^([A-Z]{1,20}) +(https?):\/\/([^/?#\s]+)((?:[/?][^#\s]*)?)(?:#\S*)?$/i
const EXPECTED = 'METHOD URL, e.g. "POST https://mcp.example.com/mcp"'
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\0\r\n]*)$/
const PRINTABLE = /^[\x21-\x7e]*$/
/** Default address of the client. */
const LOOPBACK = '127.0.0.1'

/** error: which part is wrong, and what was expected. Never quotes a token. */
export function readExplainRequest(given: RequestDescription): Result<ExplainRequest, string> {
  const [, method = '', scheme = '', authority = '', rest = ''] = REQUEST.exec(given.request) ?? []
  if (method === '') return err(`--request: expected ${EXPECTED}`)
  if (authority.includes('@'))
    return err('--request: the URL has a user name; expected HOST[:PORT]')
  const isHost = URL.canParse(`http://${authority}`) && !authority.includes(',')
  if (!isHost || hostNameOf(authority) === '')
    return err(`--request: "${authority}" is not a host; expected ${EXPECTED}`)
  if (!PRINTABLE.test(rest))
    return err('--request: the URL has characters that clients send percent-encoded')
  const headers = readHeaders(given)
  if (!headers.ok) return headers
  const { listenerPort, gateway, body, sourceAddress = LOOPBACK } = given
  if (isIP(sourceAddress) === 0) return err('--source: expected an IP address')
  return ok({
    method: method.toUpperCase(),
    scheme: scheme.toLowerCase() === 'https' ? 'https' : 'http',
    authority,
    target: rest.startsWith('/') ? rest : `/${rest}`,
    headers: headers.value,
    ...(body !== undefined && { body }),
    ...(listenerPort !== undefined && { listenerPort }),
    ...(gateway !== undefined && { gateway }),
    sourceAddress,
  })
}

function readHeaders({ headers, token }: RequestDescription): Result<readonly Field[], string> {
  const fields: Field[] = []
  for (const text of headers) {
    const [, name, value] = HEADER.exec(text) ?? []
    if (name === undefined || value === undefined)
      return err(`--header: "${nameIn(text)}" is not a header; expected "Name: value"`)
    fields.push([name.toLowerCase(), value.trim()])
  }
  if (token === undefined) return ok(fields)
  const plain = token.trim().replace(/^bearer +/i, '')
  if (!PRINTABLE.test(plain) || plain === '')
    return err('--token: expected a token alone, without white space')
  return ok([...fields, ['authorization', `Bearer ${plain}`]])
}

/** Returns the part before the colon, because the value may be a secret. */
const nameIn = (text: string): string => text.split(':', 1)[0]?.slice(0, 64) ?? ''
