// Formats the values that a decision read: claims, headers, parts of the request. Hides credentials.

import type { Attributes, McpAttributes, RequestAttributes } from '../../extauthz/cel/attributes.js'
import type { Reads } from '../../extauthz/cel/reads.js'
import { claim } from '../../extauthz/token/claims.js'
import { type Hide, loggable } from '../../kit/decision-log.js'
import type { Json, JsonObject } from '../../model/json.js'
import { hostNameOf } from './routing/client-request.js'
import { pathOf } from './routing/match-route.js'

/** Formats texts in quotes, lists in brackets, and missing values as "absent". */
export const shown = (value: Json | undefined): string =>
  value === undefined ? 'absent' : JSON.stringify(value)

/** Like shown(), but one value is shown as a list, too: aud may be either. */
export const listShown = (value: Json | undefined): string =>
  shown(value === undefined || Array.isArray(value) ? value : [value])

/** Shows seconds since the epoch as UTC. */
export function timeText(value: Json | undefined): string {
  const time = typeof value === 'number' ? new Date(Math.floor(value) * 1000) : undefined
  return time === undefined || Number.isNaN(time.getTime())
    ? shown(value)
    : time.toISOString().replace('.000Z', 'Z')
}

/** Returns one claim for display; undefined: the token does not have it. */
export function claimShown(claims: JsonObject, name: string, hide: Hide): Json | undefined {
  const value = claim(claims, name)
  return value === undefined ? undefined : (loggable(value, hide) as Json)
}

/** Says which scopes a token has: those of scope or scp. */
export function scopesText(claims: JsonObject, hide: Hide): string {
  const held = claimShown(claims, 'scope', hide) ?? claimShown(claims, 'scp', hide)
  return held === undefined ? 'the token has none' : `the token has ${shown(held)}`
}

/** Returns what an expression reads, by name. A variable that is read as a whole is only named. */
export function readValues(
  { roots, requestHeaders }: Reads,
  attributes: Attributes,
  hide: Hide,
): Readonly<Record<string, Json>> {
  const read: Record<string, Json> = {}
  for (const [root, members] of roots)
    for (const member of members) {
      if (root === 'request' && member === 'headers') continue
      const name = member === '*' ? root : `${root}.${member}`
      read[name] = valueOf(attributes, root, member, hide)
    }
  const headers = requestHeaders === 'all' ? [] : [...requestHeaders]
  for (const name of headers) {
    const value = attributes.request?.headers.get(name)
    read[`request.headers["${name}"]`] = value === undefined ? null : shownJson(value, hide)
  }
  return read
}

const shownJson = (value: unknown, hide: Hide): Json => loggable(value, hide) as Json

function valueOf(attributes: Attributes, root: string, member: string, hide: Hide): Json {
  const whole = attributes[root as keyof Attributes]
  if (whole === undefined) return null
  if (member === '*') return '(all of it)'
  switch (root) {
    case 'jwt':
      return claimShown((attributes.jwt?.json ?? {}) as JsonObject, member, hide) ?? null
    case 'request':
      return shownJson(requestRead(attributes.request, member), hide)
    case 'mcp':
      return shownJson(mcpRead(attributes.mcp, member), hide)
    default:
      return shownJson((whole as unknown as JsonObject)[member] ?? null, hide)
  }
}

// Reads members of the variables request and mcp by the names that expressions use.

type Text = string | null

/** Returns request.MEMBER; null: there is no such member. */
function requestRead(request: RequestAttributes | undefined, member: string): Text {
  if (request === undefined) return null
  const { method, scheme, version, pathAndQuery, host } = request
  const values: Readonly<Record<string, string>> = {
    method,
    scheme,
    version,
    pathAndQuery,
    host: hostNameOf(host).replace(/\.$/, ''),
    path: pathOf(pathAndQuery),
    uri: `${scheme}://${host}${pathAndQuery}`,
  }
  return values[member] ?? null
}

/** Returns mcp.MEMBER. Arguments of a tool are not shown, as they are the content of the message. */
function mcpRead(mcp: McpAttributes | undefined, member: string): string | number | null {
  if (mcp === undefined) return null
  switch (member) {
    case 'method':
      return mcp.method
    case 'protocolVersion':
      return mcp.protocolVersion
    case 'id':
      return typeof mcp.id === 'bigint' ? String(mcp.id) : mcp.id
    case 'tool':
    case 'tool.name':
      return mcp.toolName
    case 'prompt':
    case 'prompt.name':
      return mcp.promptName
    case 'resource':
    case 'resource.uri':
      return mcp.resourceUri
    default:
      return '(not shown)'
  }
}
