// RouteMatch → Envoy's RouteMatch.

import type { JsonObject } from '../../ir/json.js'
import type { PathMatch, RouteMatch, ValueMatch } from '../../ir/route.js'
import { jsonObject, unlessEmpty } from './json-object.js'

/** By path segments: Envoy's plain prefix would let /mcp match /mcpfoo. It takes no "/" alone. */
function pathFields(path: PathMatch): JsonObject {
  if (path.type === 'Exact') return { path: path.value }
  return path.value === '/' ? { prefix: '/' } : { path_separated_prefix: path.value }
}

/** envoy.type.matcher.v3.StringMatcher; a regular expression must match the whole value. */
const stringMatcher = (match: ValueMatch): JsonObject =>
  match.type === 'Exact' ? { exact: match.value } : { safe_regex: { regex: match.value } }

const valueMatcher = (match: ValueMatch): JsonObject => ({
  name: match.name,
  string_match: stringMatcher(match),
})

const methodMatcher = (method: string | undefined): readonly JsonObject[] =>
  method === undefined ? [] : [{ name: ':method', string_match: { exact: method } }]

/** envoy.config.route.v3.RouteMatch */
export const buildRouteMatch = (match: RouteMatch): JsonObject => ({
  ...pathFields(match.path),
  ...jsonObject({
    headers: unlessEmpty([...methodMatcher(match.method), ...match.headers.map(valueMatcher)]),
    query_parameters: unlessEmpty(match.queryParams.map(valueMatcher)),
  }),
})
