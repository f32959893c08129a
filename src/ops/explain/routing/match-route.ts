// Matches a request with a route as Envoy does: reads the RouteMatch that Envoy is sent. Pure.

import { matchesWhole } from '../../../extauthz/cel/patterns.js'
import type {
  HeaderMatcher,
  QueryParameterMatcher,
  RouteMatch as EnvoyRouteMatch,
} from '../../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import type { StringMatcher } from '../../../wire/grpc/generated/envoy/type/matcher/v3/string_pb.js'
import type { Field } from './client-request.js'

/** The parts of a request that routes are matched by, as Envoy has them after normalisation. */
export interface RoutedRequest {
  readonly method: string
  readonly authority: string
  /** Path and query. */
  readonly target: string
  readonly headers: readonly Field[]
}

/** Whether every part of the match is true for the request. @throws for a part that the translator never sends. */
export const matchesRoute = (match: EnvoyRouteMatch, request: RoutedRequest): boolean =>
  matchesPath(match.pathSpecifier, pathOf(request.target)) &&
  match.headers.every((one) => matchesHeader(one, headerValues(request, one.name))) &&
  (match.queryParameters.length === 0 || matchesQuery(match.queryParameters, request.target))

/** Returns the path without the query. */
export const pathOf = (target: string): string => target.split('?', 1)[0] ?? ''

function matchesPath(specifier: EnvoyRouteMatch['pathSpecifier'], path: string): boolean {
  switch (specifier.case) {
    case 'path':
      return path === specifier.value
    case 'prefix':
      return path.startsWith(specifier.value)
    case 'pathSeparatedPrefix':
      return path === specifier.value || path.startsWith(`${specifier.value}/`)
    case 'safeRegex':
      return matchesWhole(path, specifier.value.regex)
    default:
      throw new Error(`a route matches paths by ${String(specifier.case)}`)
  }
}

/** Returns the values of a header in the order sent; empty: the request does not have it. */
function headerValues(
  { headers, authority, method }: RoutedRequest,
  name: string,
): readonly string[] {
  const wanted = name.toLowerCase()
  if (wanted === ':method') return [method]
  if (wanted === 'host' || wanted === ':authority') return [authority]
  return headers.filter(([own]) => own === wanted).map(([, value]) => value)
}

/** Returns all values of a header, joined; undefined: the request does not have it. */
export function headerValue(request: RoutedRequest, name: string): string | undefined {
  const values = headerValues(request, name)
  return values.length === 0 ? undefined : values.join(',')
}

/** Envoy matches each value of a repeated header separately. */
function matchesHeader(
  { headerMatchSpecifier: specifier }: HeaderMatcher,
  found: readonly string[],
): boolean {
  if (specifier.case !== 'stringMatch')
    throw new Error(`a route matches headers by ${String(specifier.case)}`)
  const { value } = specifier
  return found.some((one) => matchesText(value, one))
}

function matchesText({ matchPattern: pattern }: StringMatcher, text: string): boolean {
  switch (pattern.case) {
    case 'exact':
      return text === pattern.value
    case 'safeRegex':
      return matchesWhole(text, pattern.value.regex)
    case 'contains':
      return text.includes(pattern.value)
    default:
      throw new Error(`a route matches texts by ${String(pattern.case)}`)
  }
}

/** Matches the first value of each parameter, as sent: Envoy decodes no escapes here. */
function matchesQuery(matchers: readonly QueryParameterMatcher[], target: string): boolean {
  const first = new Map<string, string>()
  const queryAt = target.indexOf('?')
  const pairs = queryAt < 0 ? [] : target.slice(queryAt + 1).split('&')
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    if (!first.has(name)) first.set(name, value)
  }
  return matchers.every(({ name, queryParameterMatchSpecifier: specifier }) => {
    if (specifier.case !== 'stringMatch')
      throw new Error(`a route matches parameters by ${String(specifier.case)}`)
    const value = first.get(name)
    return value !== undefined && matchesText(specifier.value, value)
  })
}
