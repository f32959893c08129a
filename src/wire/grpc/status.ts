// Status codes of gRPC, and the headers and trailers that carry them.

import { GatehouseError } from '../../kit/errors.js'
import { encodeHeaderBlock } from '../http2/hpack-encoder.js'
import type { HeaderField } from '../http2/static-table.js'

/** Status codes of gRPC. */
export const Status = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const

/** A status code of gRPC. */
export type Status = (typeof Status)[keyof typeof Status]

/** Thrown by a handler to end its call with a status. The client learns nothing of any other error. */
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
/** Maximum size of the details, because a header block must fit into a frame. */
const MAX_DETAILS_BYTES = 2_048

/** Headers before the first message. */
export const RESPONSE_HEADERS = encodeHeaderBlock(RESPONSE)
/** Encoded trailers of a call that succeeded. */
export const OK_TRAILERS = encodeHeaderBlock([['grpc-status', '0']])
/** Response to a request that is not gRPC: HTTP's "Unsupported Media Type". */
export const NOT_GRPC_HEADERS = encodeHeaderBlock([
  [':status', '415'],
  ['content-type', 'text/plain'],
])
/** Body of the response to a request that is not gRPC. */
export const NOT_GRPC_TEXT = Buffer.from('calls of gRPC only\n')

/** Encodes the trailers after the last message. */
export const encodeTrailers = (status: Status, details: string): Uint8Array =>
  status === Status.OK && details === ''
    ? OK_TRAILERS
    : encodeHeaderBlock(statusFields(status, details))

/** Encodes "Trailers-Only", a whole response without a message. */
export const encodeTrailersOnly = (status: Status, details: string): Uint8Array =>
  encodeHeaderBlock([...RESPONSE, ...statusFields(status, details)])

const statusFields = (status: Status, details: string): readonly HeaderField[] => [
  ['grpc-status', String(status)],
  ...(details === '' ? [] : [['grpc-message', percentEncode(details)] as const]),
  // The encodings that the rejected message could have used.
  ...(status === Status.UNIMPLEMENTED ? [['grpc-accept-encoding', 'identity'] as const] : []),
]

/** Keeps printable ASCII except "%", and writes every other byte of the UTF-8 text in hex. */
export const percentEncode = (text: string): string =>
  [...Buffer.from(text).subarray(0, MAX_DETAILS_BYTES)]
    .map((byte) =>
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
    )
    .join('')
