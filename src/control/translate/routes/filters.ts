// Translates and validates the filters of a rule or of a backendRef (Gateway API, HTTPRouteFilter).

import { isHostname } from '../../../model/hostnames.js'
import type {
  Cors,
  HeaderModifier,
  PathRewrite,
  RedirectAction,
  UrlRewrite,
} from '../../../model/route.js'
import type { HttpRouteFilter, MirrorSpec } from '../../schema/kinds/http-route-filter.js'
import { isHeaderName, translateHeaderModifier } from '../world/header-modifiers.js'
import { mirrorProblems } from './mirrors.js'

/** The translated filters of a rule or backendRef. */
export interface Filters {
  readonly cors?: Cors
  readonly requestHeaders?: HeaderModifier
  readonly responseHeaders?: HeaderModifier
  readonly rewrite?: UrlRewrite
  readonly redirect?: RedirectAction
  readonly mirrors?: readonly MirrorSpec[]
  /** If not empty, the rule (or the share of the backendRef) must refuse, as the Gateway API demands. */
  readonly problems: readonly string[]
}

/** Translates filters. allowed: the types that may be used there. */
export function translateFilters(
  specs: readonly HttpRouteFilter[],
  allowed: readonly HttpRouteFilter['type'][],
): Filters {
  const parts = specs.map((spec, index): Filters => {
    const problem = repeated(specs, index) ?? notAllowed(spec, allowed)
    return problem === undefined ? translateFilter(spec) : { problems: [problem] }
  })
  const merged = parts.reduce<Filters>((all, part) => ({ ...all, ...part }), { problems: [] })
  const mirrors = parts.flatMap((part) => part.mirrors ?? [])
  const beside = [
    ...(merged.rewrite === undefined ? [] : ['URLRewrite']),
    ...(mirrors.length === 0 ? [] : ['RequestMirror']),
  ]
  const excluded = merged.redirect === undefined ? [] : beside
  return {
    ...merged,
    ...(mirrors.length === 0 ? {} : { mirrors }),
    problems: [
      ...parts.flatMap(({ problems }) => problems),
      ...excluded.map((type) => `filters ${type} and RequestRedirect exclude each other`),
    ],
  }
}

const notAllowed = (
  { type }: HttpRouteFilter,
  allowed: readonly HttpRouteFilter['type'][],
): string | undefined => (allowed.includes(type) ? undefined : `filter ${type} is not implemented`)

const repeated = (specs: readonly HttpRouteFilter[], index: number): string | undefined =>
  specs[index]?.type === 'RequestMirror' ||
  specs.findIndex(({ type }) => type === specs[index]?.type) === index
    ? undefined
    : `filter ${specs[index]?.type} is there twice`

function translateFilter(spec: HttpRouteFilter): Filters {
  switch (spec.type) {
    case 'CORS': {
      const problems = corsProblems(spec.cors)
      return problems.length > 0 ? { problems } : { cors: spec.cors, problems }
    }
    case 'RequestHeaderModifier': {
      const headers = translateHeaderModifier(spec.requestHeaderModifier, ['host'])
      return headers.ok
        ? { requestHeaders: headers.value, problems: [] }
        : { problems: [headers.error] }
    }
    case 'ResponseHeaderModifier': {
      const headers = translateHeaderModifier(spec.responseHeaderModifier, [])
      return headers.ok
        ? { responseHeaders: headers.value, problems: [] }
        : { problems: [headers.error] }
    }
    case 'URLRewrite':
      return { rewrite: translateRewrite(spec.urlRewrite), problems: urlProblems(spec.urlRewrite) }
    case 'RequestRedirect':
      return {
        redirect: translateRedirect(spec.requestRedirect),
        problems: urlProblems(spec.requestRedirect),
      }
    case 'RequestMirror':
      return { mirrors: [spec.requestMirror], problems: mirrorProblems(spec.requestMirror) }
    case 'ExtensionRef':
    case 'ExternalAuth':
      return { problems: [`filter ${spec.type} is not implemented`] }
  }
}

/** Matches "*", or an origin whose host may contain a "*". */
const ORIGIN = /^(\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#\p{Cc}]+)$/iu

function corsProblems({ allowOrigins, allowHeaders, exposeHeaders }: Cors): readonly string[] {
  const names = [...allowHeaders, ...exposeHeaders].filter((name) => !isHeaderName(name))
  const origins = allowOrigins.filter((origin) => !ORIGIN.test(origin))
  return [
    ...names.map((name) => `CORS: "${name}" is not a header name`),
    ...origins.map((origin) => `CORS: "${origin}" is not an origin`),
  ]
}

type FilterOf<Type> = Extract<HttpRouteFilter, { readonly type: Type }>
type RewriteSpec = FilterOf<'URLRewrite'>['urlRewrite']
type RedirectSpec = FilterOf<'RequestRedirect'>['requestRedirect']
type PathSpec = NonNullable<RedirectSpec['path']>

/** Translates a URLRewrite filter. */
export const translateRewrite = ({ hostname, path }: RewriteSpec): UrlRewrite => ({
  ...(hostname === undefined ? {} : { hostname }),
  ...rewrittenPath(path),
})

/** Translates a RequestRedirect filter. */
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

/** Returns why the host name or path of a rewrite or redirect is not valid. */
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

function rewrittenPath(path: PathSpec | undefined): { readonly path?: PathRewrite } {
  if (path === undefined) return {}
  const value = pathOf(path)
  return path.type === 'ReplaceFullPath'
    ? { path: { type: path.type, value } }
    : { path: { type: path.type, value: value.replace(/\/$/, '') } }
}
