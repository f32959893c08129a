// Builds Envoy's RouteMatch.

import { create } from '@bufbuild/protobuf'
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch as EnvoyRouteMatch,
  RouteMatchSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { RegexMatcherSchema } from '../../grpc/generated/envoy/type/matcher/v3/regex_pb.js'
import type { StringMatcher } from '../../grpc/generated/envoy/type/matcher/v3/string_pb.js'
import type { PathMatch, RouteMatch, ValueMatch } from '../../ir/route.js'
import type { FieldsOf } from './messages.js'
import { containing, exactly, matching } from './messages.js'
import { encodedForms } from './query-value.js'

/**
 * Matches path segments: Envoy's plain prefix would let /mcp match /mcpfoo; path_separated_prefix rejects "/" alone.
 */
function pathSpecifier({
  type,
  value,
}: PathMatch): FieldsOf<typeof RouteMatchSchema>['pathSpecifier'] {
  if (type === 'Exact') return { case: 'path', value }
  if (type === 'RegularExpression')
    return { case: 'safeRegex', value: create(RegexMatcherSchema, { regex: value }) }
  return value === '/' ? { case: 'prefix', value } : { case: 'pathSeparatedPrefix', value }
}

const MATCHERS: Readonly<Record<ValueMatch['type'], (value: string) => StringMatcher>> = {
  Exact: exactly,
  RegularExpression: matching,
  Contains: containing,
}

const stringMatcher = ({ type, value }: ValueMatch): StringMatcher => MATCHERS[type](value)

const headerMatcher = (name: string, value: StringMatcher): HeaderMatcher =>
  create(HeaderMatcherSchema, { name, headerMatchSpecifier: { case: 'stringMatch', value } })

const queryMatcher = (match: ValueMatch): QueryParameterMatcher =>
  create(QueryParameterMatcherSchema, {
    name: match.name,
    queryParameterMatchSpecifier: {
      case: 'stringMatch',
      value: matching(match.type === 'Exact' ? encodedForms(match.value) : match.value),
    },
  })

const methodMatchers = (method: string | undefined): readonly HeaderMatcher[] =>
  method === undefined ? [] : [headerMatcher(':method', exactly(method))]

/** envoy.config.route.v3.RouteMatch */
export const buildRouteMatch = (match: RouteMatch): EnvoyRouteMatch =>
  create(RouteMatchSchema, {
    pathSpecifier: pathSpecifier(match.path),
    headers: [
      ...methodMatchers(match.method),
      ...match.headers.map((header) => headerMatcher(header.name, stringMatcher(header))),
    ],
    queryParameters: match.queryParams.map(queryMatcher),
  })
