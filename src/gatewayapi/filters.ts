// filters of a rule or of a backendRef → what is changed on the way, or why it cannot be (Gateway API, HTTPRouteFilter).

import type { Cors, HeaderModifier, PathRewrite, RedirectAction, UrlRewrite } from '../ir/route.js'
import type { HttpRouteFilter } from '../resources/http-route-filter.js'
import { isHeaderName, translateHeaderModifier } from './header-modifiers.js'

export interface Filters {
  readonly cors?: Cors
  readonly requestHeaders?: HeaderModifier
  readonly responseHeaders?: HeaderModifier
  readonly rewrite?: UrlRewrite
  readonly redirect?: RedirectAction
  /** Not empty: the rule (or the share of the backendRef) must refuse, as the Gateway API asks. */
  readonly problems: readonly string[]
}

export function translateFilters(
  specs: readonly HttpRouteFilter[],
  allowed: readonly HttpRouteFilter['type'][],
): Filters {
  const parts = specs.map((spec, index): Filters => {
    const problem = repeated(specs, index) ?? notAllowed(spec, allowed)
    return problem === undefined ? translateFilter(spec) : { problems: [problem] }
  })
  const merged = parts.reduce<Filters>((all, part) => ({ ...all, ...part }), { problems: [] })
  const both = merged.rewrite !== undefined && merged.redirect !== undefined
  return {
    ...merged,
    problems: [
      ...parts.flatMap(({ problems }) => problems),
      ...(both ? ['filters URLRewrite and RequestRedirect exclude each other'] : []),
    ],
  }
}

const notAllowed = (
  { type }: HttpRouteFilter,
  allowed: readonly HttpRouteFilter['type'][],
): string | undefined =>
  allowed.includes(type) ? undefined : `filter ${type} is not implemented here`

const repeated = (specs: readonly HttpRouteFilter[], index: number): string | undefined =>
  specs.findIndex(({ type }) => type === specs[index]?.type) === index
    ? undefined
    : `filter ${specs[index]?.type} is there twice`

function translateFilter(spec: HttpRouteFilter): Filters {
  switch (spec.type) {
    case 'CORS':
      return { cors: spec.cors, problems: corsProblems(spec.cors) }
    case 'RequestHeaderModifier': {
      const headers = translateHeaderModifier(spec.requestHeaderModifier)
      return headers.ok
        ? { requestHeaders: headers.value, problems: [] }
        : { problems: [headers.error] }
    }
    case 'ResponseHeaderModifier': {
      const headers = translateHeaderModifier(spec.responseHeaderModifier)
      return headers.ok
        ? { responseHeaders: headers.value, problems: [] }
        : { problems: [headers.error] }
    }
    case 'URLRewrite': {
      const { hostname, path } = spec.urlRewrite
      return {
        rewrite: { ...optional('hostname', hostname), ...rewrittenPath(path) },
        problems: pathProblems(path),
      }
    }
    case 'RequestRedirect':
      return {
        redirect: translateRedirect(spec),
        problems: pathProblems(spec.requestRedirect.path),
      }
    case 'RequestMirror':
    case 'ExtensionRef':
    case 'ExternalAuth':
      return { problems: [`filter ${spec.type} is not implemented`] }
  }
}

type RedirectFilter = Extract<HttpRouteFilter, { readonly type: 'RequestRedirect' }>
type PathModifier = NonNullable<RedirectFilter['requestRedirect']['path']>

function translateRedirect({ requestRedirect }: RedirectFilter): RedirectAction {
  const { scheme, hostname, port, path, statusCode } = requestRedirect
  return {
    type: 'redirect',
    ...optional('scheme', scheme),
    ...optional('hostname', hostname),
    ...optional('port', port),
    ...rewrittenPath(path),
    statusCode,
  }
}

const optional = <Name extends string, Value>(
  name: Name,
  value: Value | undefined,
): { readonly [name in Name]?: Value } =>
  value === undefined ? {} : ({ [name]: value } as { readonly [name in Name]?: Value })

const rewrittenPath = (path: PathModifier | undefined): { readonly path?: PathRewrite } => {
  if (path === undefined) return {}
  return path.type === 'ReplaceFullPath'
    ? { path: { type: path.type, value: path.replaceFullPath } }
    : { path: { type: path.type, value: path.replacePrefixMatch.replace(/\/$/, '') } }
}

function pathProblems(path: PathModifier | undefined): readonly string[] {
  if (path === undefined) return []
  const value = path.type === 'ReplaceFullPath' ? path.replaceFullPath : path.replacePrefixMatch
  const isPath = value === '' || (value.startsWith('/') && !/[\s\p{Cc}]/u.test(value))
  return isPath ? [] : [`path "${value}" of a filter is not a path`]
}

function corsProblems(cors: Cors): readonly string[] {
  const bad = [...cors.allowHeaders, ...cors.exposeHeaders].filter((name) => !isHeaderName(name))
  return bad.map((name) => `CORS: "${name}" is not a header name`)
}
