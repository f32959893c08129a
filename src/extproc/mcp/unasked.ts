// Says what the guard of an MCP route answers by itself, before a webhook is asked about the request.

import { readMcpRequest } from '../../extauthz/mcp/http-message.js'
import { McpProblem } from '../../extauthz/mcp/mcp-problem.js'
import type { Ending } from '../../kit/ending.js'
import { inTurns } from '../../kit/turns.js'
import type { McpGuardEntry } from '../../model/proc-entry.js'
import { decodeUnheld } from '../guard/decoded-body.js'
import type { Refused } from '../guard/inspection.js'
import { decodedHeaders, guardedRequest } from '../guard/request-attributes.js'
import type { UnaskedRequest } from '../guard/unasked.js'
import { compileWebhooks, inspectsOf } from '../webhook/compiled-guard.js'
import { mcpTooLarge, unreadableMcpRequest } from './mcp-replies.js'
import { NOTHING_ASKED, readClientMessages } from './texts/guarded-message.js'

/** undefined: webhooks are asked, or none reads the request. */
export async function refusedUnaskedMcp(
  entry: McpGuardEntry,
  { headers, body }: UnaskedRequest,
  maxBodyBytes: number,
  signal: Ending,
): Promise<Refused | undefined> {
  const { encoding = '' } = guardedRequest(headers)
  const decoded = await decodeUnheld(body, encoding, maxBodyBytes)
  const isDecoded = encoding !== '' && decoded !== undefined
  const { request } = guardedRequest(isDecoded ? decodedHeaders(headers) : headers).attributes
  if (decoded === 'too large' || body.length > maxBodyBytes)
    return mcpTooLarge({ asked: NOTHING_ASKED, isBatch: false })
  const { method = '', headers: all = new Map<string, string>() } = request ?? {}
  const read = await inTurns(
    readMcpRequest({ method, headers: all, body: decoded ?? body }),
    signal,
  )
  if (read === undefined) return undefined
  if (!read.ok) return unreadableMcpRequest(read.error)
  const { json, id } = read.value
  const webhooks = compileWebhooks(entry, 'mcp.guard').request
  if (json === undefined || webhooks.length === 0) return undefined
  const messages = await inTurns(readClientMessages(json, inspectsOf(webhooks)), signal)
  return messages === undefined || messages.ok
    ? undefined
    : unreadableMcpRequest(new McpProblem('invalid-request', messages.error, id))
}
