// URLRewrite and RequestRedirect → the rewrite or redirect of a route. Envoy would refuse the whole configuration for a bad name or path.

import type { PathRewrite, RedirectAction, UrlRewrite } from '../ir/route.js'
import type { HttpRouteFilter } from '../resources/http-route-filter.js'
import { isHostname } from './hostnames.js'

type FilterOf<Type> = Extract<HttpRouteFilter, { readonly type: Type }>
type RewriteSpec = FilterOf<'URLRewrite'>['urlRewrite']
type RedirectSpec = FilterOf<'RequestRedirect'>['requestRedirect']
type PathSpec = NonNullable<RedirectSpec['path']>

export const translateRewrite = ({ hostname, path }: RewriteSpec): UrlRewrite => ({
  ...(hostname === undefined ? {} : { hostname }),
  ...rewrittenPath(path),
})

export function translateRedirect(spec: RedirectSpec): RedirectAction {
  const { scheme, hostname, port, path, statusCode } = spec
  return {
    type: 'redirect',
    ...(scheme === undefined ? {} : { scheme }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(port === undefined ? {} : { port }),
    ...rewrittenPath(path),
    statusCode,
  }
}

export function urlProblems({ hostname, path }: RewriteSpec): readonly string[] {
  return [
    ...(hostname === undefined || isHostname(hostname) ? [] : [`"${hostname}" is not a host name`]),
    ...(path === undefined || isPath(pathOf(path)) ? [] : [`"${pathOf(path)}" is not a path`]),
  ]
}

const pathOf = (path: PathSpec): string =>
  path.type === 'ReplaceFullPath' ? path.replaceFullPath : path.replacePrefixMatch

const isPath = (path: string): boolean =>
  path === '' || (path.startsWith('/') && !/[\s\p{Cc}]/u.test(path))

const rewrittenPath = (path: PathSpec | undefined): { readonly path?: PathRewrite } => {
  if (path === undefined) return {}
  const value = pathOf(path)
  return path.type === 'ReplaceFullPath'
    ? { path: { type: path.type, value } }
    : { path: { type: path.type, value: value.replace(/\/$/, '') } }
}
