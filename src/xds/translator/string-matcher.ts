// Builds Envoy's string matchers from texts and regular expressions.

import { create } from '@bufbuild/protobuf'
import {
  type StringMatcher,
  StringMatcherSchema,
} from '../../grpc/generated/envoy/type/matcher/v3/string_pb.js'

/** envoy.type.matcher.v3.StringMatcher for an exact text. */
export const exactly = (value: string): StringMatcher =>
  create(StringMatcherSchema, { matchPattern: { case: 'exact', value } })

/** envoy.type.matcher.v3.StringMatcher for a text within the value. */
export const containing = (value: string): StringMatcher =>
  create(StringMatcherSchema, { matchPattern: { case: 'contains', value } })

/** envoy.type.matcher.v3.StringMatcher for a regular expression (RE2), which must match the whole value. */
export const matching = (regex: string): StringMatcher =>
  create(StringMatcherSchema, { matchPattern: { case: 'safeRegex', value: { regex } } })
