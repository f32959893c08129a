// Why a request is not a message of MCP that rules could judge, as the JSON-RPC error for its client.

import { GatehouseError } from '../../kit/errors.js'

/**
 * Codes of JSON-RPC 2.0 section 5.1, and of MCP (revision 2026-07-28, basic/transports/streamable-http, "Server
 * Validation").
 */
const CODES = {
  'parse-error': -32_700,
  'invalid-request': -32_600,
  'invalid-params': -32_602,
  'header-mismatch': -32_020,
} as const

/** From the range that MCP leaves to implementations. */
export const FORBIDDEN_CODE = -32_010

/** JSON text of a string or a number, or null. */
export type MessageId = string

/** Id of an answer to a message without one. */
export const NO_ID: MessageId = 'null'

/** message: for the client's author; contains nothing of the body but members of MCP. */
export class McpProblem extends GatehouseError {
  constructor(
    readonly code: keyof typeof CODES,
    message: string,
    readonly id: MessageId = NO_ID,
  ) {
    super(message)
  }

  /** Returns the same problem with the id of its message. */
  of(id: MessageId): McpProblem {
    return new McpProblem(this.code, this.message, id)
  }
}

/** Returns the body of the answer. */
export const problemBody = ({ code, message, id }: McpProblem): string =>
  errorBody(CODES[code], message, id)

/** Returns a JSON-RPC error response: with any other body of a 400, clients assume a server of an older revision. */
export const errorBody = (code: number, message: string, id: MessageId): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${String(code)},"message":${JSON.stringify(message)}}}`
