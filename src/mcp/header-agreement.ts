// Checks the headers that repeat parts of a message (revision 2026-07-28, basic/transports/streamable-http, "Request
// Metadata"): a server that trusts them and one that trusts the body would do different things.

import { decodeUtf8 } from '../utf8.js'
import { McpProblem } from './mcp-problem.js'
import type { McpMessage } from './message.js'

/** Values by lower-case name; a list: sent more than once. */
export type HttpHeaderValues = ReadonlyMap<string, string | readonly string[]>

/** Versions that do not define or do not require these headers. Any other version is treated as 2026-07-28 or later. */
const WITHOUT_DEMANDS: ReadonlySet<string> = new Set([
  '2024-10-07',
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
])

/** Methods whose requests require Mcp-Name. */
const NAMED: ReadonlySet<string> = new Set(['tools/call', 'resources/read', 'prompts/get'])

/**
 * @throws McpProblem when a header is missing that the message's version requires, or when one contradicts the message.
 */
export function assertAgreement(message: McpMessage, headers: HttpHeaderValues): void {
  const version = single(headers, 'mcp-protocol-version', message)
  const method = single(headers, 'mcp-method', message)
  const name = single(headers, 'mcp-name', message)
  const { metaVersion, protocolVersion } = message
  const hasVersion = metaVersion !== undefined || protocolVersion !== ''
  if (hasVersion && version !== undefined && version !== protocolVersion)
    throw mismatch(message, 'MCP-Protocol-Version is not the version of the body')
  if (method !== undefined && method !== message.method)
    throw mismatch(message, 'Mcp-Method is not the method of the body')
  if (name !== undefined && decoded(name, message) !== message.name)
    throw mismatch(message, 'Mcp-Name is not the name of the body')
  if (message.type === 'request' && isDemanding(message.metaVersion ?? version))
    assertComplete(message, { version, method, name })
}

const isDemanding = (version: string | undefined): boolean =>
  version !== undefined && !WITHOUT_DEMANDS.has(version)

interface Repeated {
  readonly version: string | undefined
  readonly method: string | undefined
  readonly name: string | undefined
}

function assertComplete(message: McpMessage, { version, method, name }: Repeated): void {
  if (version === undefined) throw mismatch(message, 'MCP-Protocol-Version is missing')
  if (message.metaVersion === undefined)
    throw mismatch(message, 'MCP-Protocol-Version is there and the version in _meta is missing')
  if (method === undefined) throw mismatch(message, 'Mcp-Method is missing')
  if (name === undefined && NAMED.has(message.method))
    throw mismatch(message, 'Mcp-Name is missing')
}

const mismatch = ({ id }: McpMessage, what: string): McpProblem =>
  new McpProblem('header-mismatch', `Header mismatch: ${what}`, id)

function single(headers: HttpHeaderValues, name: string, message: McpMessage): string | undefined {
  const value = headers.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'string') throw mismatch(message, `${name} is there twice`)
  if (NOT_ASCII.test(value)) throw mismatch(message, `${name} has other characters than ASCII's`)
  return value
}

const NOT_ASCII = /[^\t\x20-\x7e]/
const ENCODED = /^=\?base64\?(.*)\?=$/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Decodes "Value Encoding": =?base64?…?= around the UTF-8 of what is not plain ASCII. */
function decoded(value: string, message: McpMessage): string {
  const [, base64] = ENCODED.exec(value) ?? []
  if (base64 === undefined) return value
  // A name of this form must be encoded itself, so this is not one.
  if (!BASE64.test(base64)) throw mismatch(message, 'Mcp-Name is no base64')
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.toString('base64').replaceAll('=', '') !== base64.replaceAll('=', ''))
    throw mismatch(message, 'Mcp-Name is no base64')
  const text = decodeUtf8(bytes)
  if (text === undefined) throw mismatch(message, 'Mcp-Name is not UTF-8')
  return text
}
