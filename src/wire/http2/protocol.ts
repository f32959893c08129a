// Constants of HTTP/2 (RFC 9113), and the error that ends a connection.

import { GatehouseError } from '../../kit/errors.js'

/** Frame types (section 6). */
export const FrameType = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const

/** Frame flags (section 6); ACK and END_STREAM share a bit on different frame types. */
export const FrameFlag = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const

/** Settings (section 6.5.2). */
export const Setting = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
  MAX_HEADER_LIST_SIZE: 0x6,
} as const

/** Error codes (section 7). */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  ENHANCE_YOUR_CALM: 0xb,
} as const

/** Client connection preface (section 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Size of a frame header (section 4.1). */
export const FRAME_HEADER_BYTES = 9
/** Initial flow-control window in bytes (section 6.5.2); this server keeps it for its streams. */
export const DEFAULT_WINDOW = 65_535
/** Initial SETTINGS_MAX_FRAME_SIZE in bytes (section 6.5.2). */
export const DEFAULT_MAX_FRAME_SIZE = 16_384
/** Initial SETTINGS_HEADER_TABLE_SIZE in bytes (section 6.5.2). */
export const DEFAULT_TABLE_SIZE = 4_096
/** Largest flow-control window (section 6.9.1). */
export const MAX_WINDOW = 2 ** 31 - 1
/** The largest stream identifier: 31 bits (section 4.1). */
export const MAX_STREAM_ID = 2 ** 31 - 1

/** An error that ends the connection with GOAWAY (section 5.4.1). */
export class ConnectionError extends GatehouseError {
  readonly code = 'http2_connection'

  constructor(
    readonly errorCode: number,
    message: string,
  ) {
    super(message)
    this.name = 'ConnectionError'
  }
}
