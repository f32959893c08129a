// Builds Envoy's prefix_rewrite or regex_rewrite, with slashes as the Gateway API defines them. The query is kept.

import { create } from '@bufbuild/protobuf'
import { escapeRegex, escapeSubstitution } from '../../model/regex.js'
import type { PathMatch, PathRewrite } from '../../model/route.js'
import { withoutSlashes } from '../../model/slashes.js'
import {
  type RegexMatchAndSubstitute,
  RegexMatchAndSubstituteSchema,
} from '../../wire/grpc/generated/envoy/type/matcher/v3/regex_pb.js'

/** A field of envoy.config.route.v3.RouteAction, and a case of RedirectAction's path_rewrite_specifier. */
export type EnvoyRewrite =
  | { readonly case: 'prefixRewrite'; readonly value: string }
  | { readonly case: 'regexRewrite'; readonly value: RegexMatchAndSubstitute }

const regexRewrite = (regex: string, replacement: string): EnvoyRewrite => ({
  case: 'regexRewrite',
  value: create(RegexMatchAndSubstituteSchema, {
    pattern: { regex },
    substitution: escapeSubstitution(replacement),
  }),
})

/** Returns the prefix that a prefix match replaces: the whole matched path, "" for "/". */
const prefixOf = (path: PathMatch): string => (path.value === '/' ? '' : path.value)

/**
 * Replaces a matched prefix.
 * /foo → /xyz: /foo/bar becomes /xyz/bar, /foo becomes /xyz.
 * /foo → "": /foo/bar becomes /bar and /foo becomes "/", where Envoy's prefix_rewrite would give //bar.
 * "/" → /xyz: /bar becomes /xyz/bar.
 */
function replacePrefix(path: PathMatch, value: string): EnvoyRewrite | undefined {
  const prefix = prefixOf(path)
  const replacement = withoutSlashes(value)
  if (replacement === '')
    return prefix === '' ? undefined : regexRewrite(`^${escapeRegex(prefix)}/*`, '/')
  return { case: 'prefixRewrite', value: prefix === '' ? `${replacement}/` : replacement }
}

/** Returns the rewrite; undefined if the path stays as it is. path is the route's match. */
export function pathRewrite(
  rewrite: PathRewrite | undefined,
  path: PathMatch,
): EnvoyRewrite | undefined {
  if (rewrite === undefined) return undefined
  if (rewrite.type === 'ReplacePrefixMatch') return replacePrefix(path, rewrite.value)
  return regexRewrite('^/.*$', rewrite.value)
}
