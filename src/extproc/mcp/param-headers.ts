// Headers that repeat arguments of a tool call (Mcp-Param-…, revision 2026-07-28): they must not tell the server what
// webhooks have not seen, or have masked.

import type { HttpHeaderValues } from '../../mcp/header-agreement.js'
import { McpProblem } from '../../mcp/mcp-problem.js'
import type { GuardedMessage } from '../../mcp/texts/guarded-message.js'
import { decodeUtf8 } from '../../utf8.js'

const PREFIX = 'mcp-param-'
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/
/** Values without text: numbers and booleans. */
const NO_TEXT = /^(?:true|false|-?[\d.eE+-]{0,32})$/
const PLAIN = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Returns the headers whose arguments the webhooks have changed, with the new values. contents: one per entry of the
 * message; undefined: a batch, which has no such headers.
 * @throws McpProblem for a header that repeats no argument.
 */
export function changedParams(
  headers: HttpHeaderValues,
  message: GuardedMessage | undefined,
  contents: readonly string[],
): Readonly<Record<string, string>> {
  const changed: Record<string, string> = {}
  for (const [name, value] of headers) {
    if (!name.startsWith(PREFIX)) continue
    const text = typeof value === 'string' ? decoded(value) : undefined
    if (text !== undefined && NO_TEXT.test(text)) continue
    const places = (message?.entries ?? []).flatMap(({ content }, index) =>
      content === text ? [index] : [],
    )
    if (places.length === 0)
      throw new McpProblem(
        'header-mismatch',
        `Header mismatch: ${name} repeats no argument of the body`,
        message?.id,
      )
    const now = places.map((index) => contents[index] ?? '').find((content) => content !== text)
    if (now !== undefined) changed[name] = encoded(now)
  }
  return changed
}

function decoded(value: string): string | undefined {
  const [, base64] = ENCODED.exec(value) ?? []
  return base64 === undefined ? value : decodeUtf8(Buffer.from(base64, 'base64'))
}

const encoded = (text: string): string =>
  PLAIN.test(text) && !ENCODED.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`
