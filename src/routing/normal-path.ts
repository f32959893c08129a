// Normalises a request target as Envoy does before it chooses a route: normalize_path, merge_slashes, and escaped
// slashes rejected (xds/translator/http-connection-manager.ts).

import { err, ok, type Result } from '../result.js'

const ESCAPED_SLASH = /%(?:2f|5c)/i
const ESCAPED_NUL = /%00/
/** Unreserved characters, which are unescaped (RFC 3986 section 6.2.2.2). */
const UNRESERVED = /[A-Za-z0-9._~-]/

/** Returns the path and query that routes are matched with. error: why Envoy answers 400. */
export function normalTarget(target: string): Result<string, string> {
  const queryAt = target.indexOf('?')
  const path = queryAt < 0 ? target : target.slice(0, queryAt)
  const query = queryAt < 0 ? '' : target.slice(queryAt)
  if (target.includes('#')) return err('the request target has a fragment ("#")')
  if (!path.startsWith('/')) return err('the path does not begin with a slash')
  if (ESCAPED_SLASH.test(path)) return err('the path has an escaped slash or backslash')
  if (ESCAPED_NUL.test(path)) return err('the path has an escaped NUL')
  return ok(withoutDots(unescaped(path)).replace(/\/{2,}/g, '/') + query)
}

const unescaped = (path: string): string =>
  path.replaceAll('\\', '/').replace(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16))
    return UNRESERVED.test(character) ? character : escape
  })

/** Resolves dot segments (RFC 3986 section 5.2.4). */
function withoutDots(path: string): string {
  const segments: string[] = []
  const all = path.split('/').slice(1)
  for (const [index, segment] of all.entries()) {
    const isLast = index === all.length - 1
    if (segment === '..') segments.pop()
    else if (segment !== '.') segments.push(segment)
    if (isLast && (segment === '.' || segment === '..')) segments.push('')
  }
  return `/${segments.join('/')}`
}
