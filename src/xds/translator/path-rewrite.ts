// PathRewrite → Envoy's prefix_rewrite or regex_rewrite, with slashes as the Gateway API wants them. The query stays.

import type { JsonObject } from '../../ir/json.js'
import type { PathMatch, PathRewrite } from '../../ir/route.js'
import { withoutSlashes } from '../../ir/slashes.js'
import { escapeRegex, escapeSubstitution } from './regex.js'

/** envoy.type.matcher.v3.RegexMatchAndSubstitute */
const regexRewrite = (regex: string, replacement: string): JsonObject => ({
  regex_rewrite: { pattern: { regex }, substitution: escapeSubstitution(replacement) },
})

/** The matched path as a whole, which is what a prefix match on it leaves to be replaced. */
const prefixOf = (path: PathMatch): string => (path.value === '/' ? '' : path.value)

/**
 * /foo → /xyz: /foo/bar becomes /xyz/bar, /foo becomes /xyz.
 * /foo → "": /foo/bar becomes /bar and /foo becomes "/", where Envoy's prefix_rewrite would give //bar.
 * "/" → /xyz: /bar becomes /xyz/bar.
 */
function replacePrefix(path: PathMatch, value: string): JsonObject {
  const prefix = prefixOf(path)
  const replacement = withoutSlashes(value)
  if (replacement === '') return prefix === '' ? {} : regexRewrite(`^${escapeRegex(prefix)}/*`, '/')
  return { prefix_rewrite: prefix === '' ? `${replacement}/` : replacement }
}

/** The fields are the same in RouteAction and RedirectAction. path: what the route matches. */
export function pathRewriteFields(rewrite: PathRewrite | undefined, path: PathMatch): JsonObject {
  if (rewrite === undefined) return {}
  if (rewrite.type === 'ReplacePrefixMatch') return replacePrefix(path, rewrite.value)
  return regexRewrite('^/.*$', rewrite.value)
}
