// How a call ends: status codes of gRPC, and the trailers that say them.

import { GatehouseError } from '../errors.js'
import { encodeHeaderBlock } from '../http2/hpack-encoder.js'
import type { HeaderField } from '../http2/static-table.js'

export const Status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const

export type Status = (typeof Status)[keyof typeof Status]

/** Thrown by a handler: how its call ends. Of any other error nothing is told to the client. */
export class GrpcError extends GatehouseError {
  readonly code = 'grpc_status'

  constructor(
    readonly status: Status,
    details: string,
  ) {
    super(details)
    this.name = 'GrpcError'
  }
}

const RESPONSE: readonly HeaderField[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
]
/** A header block must fit into a frame. */
const MAX_DETAILS_BYTES = 2_048

/** What comes before the first message. */
export const RESPONSE_HEADERS = encodeHeaderBlock(RESPONSE)
export const OK_TRAILERS = encodeHeaderBlock([['grpc-status', '0']])
/** Not a call of gRPC at all: HTTP's "Unsupported Media Type". */
export const NOT_GRPC_HEADERS = encodeHeaderBlock([
  [':status', '415'],
  ['content-type', 'text/plain'],
])
export const NOT_GRPC_TEXT = Buffer.from('calls of gRPC only\n')

/** After the last message. */
export const encodeTrailers = (status: Status, details: string): Uint8Array =>
  status === Status.OK && details === '' ? OK_TRAILERS : encodeHeaderBlock(said(status, details))

/** "Trailers-Only": the whole response, where there is no message. */
export const encodeTrailersOnly = (status: Status, details: string): Uint8Array =>
  encodeHeaderBlock([...RESPONSE, ...said(status, details)])

const said = (status: Status, details: string): readonly HeaderField[] => [
  ['grpc-status', String(status)],
  ...(details === '' ? [] : [['grpc-message', percentEncode(details)] as const]),
  // Which encodings the refused message might have had.
  ...(status === Status.UNIMPLEMENTED ? [['grpc-accept-encoding', 'identity'] as const] : []),
]

/** Printable ASCII but "%" stands for itself, every other byte of the UTF-8 is written in hex. */
export const percentEncode = (text: string): string =>
  [...Buffer.from(text).subarray(0, MAX_DETAILS_BYTES)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('')
