// Builds Envoy's RouteMatch.

import { create } from '@bufbuild/protobuf'
import { escapeRegex } from '../../model/regex.js'
import type { PathMatch, RouteMatch, ValueMatch } from '../../model/route.js'
import {
  type HeaderMatcher,
  HeaderMatcherSchema,
  type QueryParameterMatcher,
  QueryParameterMatcherSchema,
  type RouteMatch as EnvoyRouteMatch,
  RouteMatchSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { RegexMatcherSchema } from '../../wire/grpc/generated/envoy/type/matcher/v3/regex_pb.js'
import type { StringMatcher } from '../../wire/grpc/generated/envoy/type/matcher/v3/string_pb.js'
import { containing, exactly, type FieldsOf, matching } from './messages.js'

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

// Matches a query parameter's value in every encoding. Envoy compares the value as the client sent it.

/** Characters with a special meaning in a query unless they are percent-encoded. */
const ALWAYS_ENCODED = new Set(['+', '%', '&', '#'])

/** Returns a regular expression for all forms of the value: characters or percent-encoded bytes, "+" for a space. */
const encodedForms = (value: string): string => Array.from(value, formsOf).join('')

function formsOf(character: string): string {
  const encoded = Array.from(Buffer.from(character), percentEncoded).join('')
  if (character === ' ') return `(?:\\+|${encoded})`
  return ALWAYS_ENCODED.has(character) || character > '\x7e' || character < '\x20'
    ? encoded
    : `(?:${escapeRegex(character)}|${encoded})`
}

const percentEncoded = (byte: number): string =>
  `%${byte
    .toString(16)
    .padStart(2, '0')
    .replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)}`
