// Encodes a reply as Envoy's ImmediateResponse (envoy.service.ext_proc.v3), and the one response that requests a body.

import { REQUEST_ID, returnedId } from '../../kit/request-id.js'
import type { JsonObject } from '../../model/json.js'
import { BackwardWriter } from '../../wire/grpc/backward-writer.js'
import { writeMutation } from './guard-messages.js'
import { reasonIn, writeReason } from './refusal-metadata.js'

/** A reply of Gatehouse to the client. */
export interface Reply {
  /** 200 to 599: Envoy ignores others. */
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Values of Set-Cookie. */
  readonly cookies?: readonly string[]
  readonly body: Uint8Array
  /** Response code details in Envoy's access log; no spaces. */
  readonly details: string
}

/** asked: the headers of the request. Returns the reply with the request's id. */
export function withRequestId(
  reply: Reply,
  asked: { get(name: string): string | readonly string[] | undefined } | undefined,
): Reply {
  const id = returnedId(asked?.get(REQUEST_ID))
  return id === undefined ? reply : { ...reply, headers: { ...reply.headers, [REQUEST_ID]: id } }
}

/** Builds a JSON reply. It is no-store unless headers say otherwise. */
export const jsonReply = (
  status: number,
  body: JsonObject,
  details: string,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  body: new TextEncoder().encode(JSON.stringify(body)),
  details,
})

/** Builds an error in the format that OAuth clients read (RFC 6749 section 5.2). */
export const errorReply = (
  status: number,
  [error, description]: readonly [error: string, description: string],
  details: string,
  headers: Readonly<Record<string, string>> = {},
): Reply => jsonReply(status, { error, error_description: description }, details, headers)

/** Headers that Envoy sends with a reply, without its cookies. */
export const sentHeaders = ({ headers }: Reply): Readonly<Record<string, string>> => ({
  ...headers,
  'x-content-type-options': 'nosniff',
})

/** ProcessingResponse: immediate_response 7 (status 1 (code 1), headers 2, body 3, details 5), and a refusal's reason. */
export function immediateResponse(reply: Reply): Uint8Array {
  const { status, cookies = [], body, details } = reply
  const writer = new BackwardWriter(FIRST_BYTES)
  const reason = reasonIn(reply)
  if (reason !== undefined) writeReason(reason, writer)
  const response = writer.mark()
  writer.text(5, details)
  writer.bytes(3, body)
  const mutation = writer.mark()
  for (const cookie of cookies) writeCookie(cookie, writer)
  const set = Object.entries(sentHeaders(reply))
  writeMutation({ set: Object.fromEntries(set.map(asBytes)) }, writer)
  writer.end(2, mutation)
  const code = writer.mark()
  writer.number(1, status)
  writer.end(1, code)
  writer.end(7, response)
  return writer.view()
}

/**
 * HeaderValueOption: header 1, append 2 (value 1). With its append_action 0, Envoy 1.40 overwrites existing values.
 * value: ASCII.
 */
function writeCookie(value: string, writer: BackwardWriter): void {
  const option = writer.mark()
  const append = writer.mark()
  writer.number(1, 1)
  writer.end(2, append)
  const header = writer.mark()
  writer.latin1(3, value)
  writer.text(1, 'set-cookie')
  writer.end(1, header)
  writer.end(1, option)
}

const FIRST_BYTES = 1024

/** Encodes the value in UTF-8, one character per byte. */
const asBytes = ([name, value]: readonly [string, string]): readonly [string, string] => [
  name,
  Buffer.from(value, 'utf8').toString('latin1'),
]

/**
 * Makes Envoy send the buffered body of a request, whose headers are held until the body is answered.
 * ProcessingResponse: request_headers 1 (response 1 (status 1: CONTINUE, which is 0)).
 */
export const AWAIT_BODY: Uint8Array = Buffer.of(0x0a, 2, 0x0a, 0)
