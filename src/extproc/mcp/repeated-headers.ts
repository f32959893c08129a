// Headers that repeat parts of a message (revision 2026-07-28): its method, version and name, and arguments of a tool call
// (Mcp-Param-…). They must not tell the server what webhooks have not seen, or have masked.

import { type JsonText, readJsonTextInTurns } from '../../json/json-text.js'
import { UnreadableForm } from '../../json/unreadable-form.js'
import type { HttpHeaderValues } from '../../mcp/header-agreement.js'
import { McpProblem } from '../../mcp/mcp-problem.js'
import { readMessage } from '../../mcp/message.js'
import type { GuardedMessage } from '../../mcp/texts/guarded-message.js'
import type { Work } from '../../turns.js'
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

type Repeated = Readonly<Record<string, string | undefined>>

/** Returns what headers repeat of a message; undefined: it has no such part. */
function repeatedOf({ root, text }: JsonText): Repeated {
  const { method, name, protocolVersion } = readMessage(root, text)
  return {
    'mcp-method': method,
    'mcp-name': name,
    'mcp-protocol-version': protocolVersion === '' ? undefined : protocolVersion,
  }
}

/**
 * Returns the headers whose parts of the message the webhooks have changed, with the new values. before: the message, with
 * which the headers agree. after: the text that it has become. What is changed is read again, as it may have been shown as
 * a part of some JSON.
 * @throws McpProblem for a header that repeats nothing any more.
 */
export function* changedRepeats(
  headers: HttpHeaderValues,
  before: JsonText,
  after: string,
): Work<Readonly<Record<string, string>>> {
  const old = Object.entries(repeatedOf(before)).filter(([name]) => headers.has(name))
  if (old.length === 0) return {}
  const now = yield* repeatedIn(after)
  const changed: Record<string, string> = {}
  for (const [name, text] of old) {
    if (now[name] === text) continue
    if (now[name] === undefined)
      throw new McpProblem('header-mismatch', `Header mismatch: ${name} repeats nothing any more`)
    changed[name] = encoded(now[name])
  }
  return changed
}

function* repeatedIn(text: string): Work<Repeated> {
  const json = yield* readJsonTextInTurns(text)
  try {
    return json.ok ? repeatedOf(json.value) : {}
  } catch (error) {
    if (error instanceof McpProblem || error instanceof UnreadableForm) return {}
    throw error
  }
}

const encoded = (text: string): string =>
  PLAIN.test(text) && !ENCODED.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString('base64')}?=`
