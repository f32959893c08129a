// Why a request is no message of MCP that rules could be asked about, as the JSON-RPC error that its client is told.

import { GatehouseError } from '../errors.js'

/** JSON-RPC 2.0 section 5.1, and MCP's own (revision 2026-07-28, basic/transports/streamable-http, "Server Validation"). */
const CODES = {
  'parse-error': -32_700,
  'invalid-request': -32_600,
  'invalid-params': -32_602,
  'header-mismatch': -32_020,
} as const

/** Of the range that MCP leaves to implementations. */
export const FORBIDDEN_CODE = -32_010

/** JSON text: that of a string or a number, or null. */
export type MessageId = string

export const NO_ID: MessageId = 'null'

/** message: for the client's author; names nothing of the body but members of MCP. */
export class McpProblem extends GatehouseError {
  constructor(
    readonly code: keyof typeof CODES,
    message: string,
    readonly id: MessageId = NO_ID,
  ) {
    super(message)
  }

  /** The same of a message whose id is known. */
  of(id: MessageId): McpProblem {
    return new McpProblem(this.code, this.message, id)
  }
}

export const problemBody = ({ code, message, id }: McpProblem): string =>
  errorBody(CODES[code], message, id)

/** A JSON-RPC error response: clients take any other body of a 400 for a server of an older revision. */
export const errorBody = (code: number, message: string, id: MessageId): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${String(code)},"message":${JSON.stringify(message)}}}`
