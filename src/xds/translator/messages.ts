// Helpers for Envoy messages: typed Any values, durations, data sources, string matchers, and the source of xDS.

import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf'
import { type Any, anyPack, type Duration, durationFromMs } from '@bufbuild/protobuf/wkt'
import {
  type DataSource,
  DataSourceSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  ApiVersion,
  ConfigSourceSchema,
} from '../../wire/grpc/generated/envoy/config/core/v3/config_source_pb.js'
import {
  type StringMatcher,
  StringMatcherSchema,
} from '../../wire/grpc/generated/envoy/type/matcher/v3/string_pb.js'

/** Some fields of a message, for spreading into it. */
export type FieldsOf<Desc extends DescMessage> = Extract<
  MessageInitShape<Desc>,
  { readonly $typeName?: undefined }
>

/** How a filter reaches its gRPC server (envoy.config.core.v3.GrpcService.EnvoyGrpc). */
export interface FilterServer {
  readonly clusterName: string
  /** Absent: Envoy sends the cluster's name. */
  readonly authority?: string
}

/** Packs a message into a google.protobuf.Any. */
export const packed = <Desc extends DescMessage>(
  schema: Desc,
  message: MessageInitShape<Desc> = {} as MessageInitShape<Desc>,
): Any => anyPack(schema, create(schema, message))

/** Returns the typed_config of a filter, a transport socket or another extension. */
export const typedConfig = <Desc extends DescMessage>(
  schema: Desc,
  message?: MessageInitShape<Desc>,
): { readonly case: 'typedConfig'; readonly value: Any } => ({
  case: 'typedConfig',
  value: packed(schema, message),
})

/** google.protobuf.Duration. @throws {RangeError} if it is not a whole number of milliseconds: a bug in Gatehouse. */
export function durationOf(milliseconds: number): Duration {
  if (!Number.isSafeInteger(milliseconds))
    throw new RangeError(`a duration of ${String(milliseconds)} ms cannot be sent to Envoy`)
  return durationFromMs(milliseconds)
}

/** envoy.config.core.v3.DataSource */
export const inlineString = (value: string): DataSource =>
  create(DataSourceSchema, { specifier: { case: 'inlineString', value } })

/** A file on Envoy's machine, as an envoy.config.core.v3.DataSource. */
export const fileSource = (value: string): DataSource =>
  create(DataSourceSchema, { specifier: { case: 'filename', value } })

/** envoy.type.matcher.v3.StringMatcher for an exact text. */
export const exactly = (value: string): StringMatcher =>
  create(StringMatcherSchema, { matchPattern: { case: 'exact', value } })

/** envoy.type.matcher.v3.StringMatcher for a text within the value. */
export const containing = (value: string): StringMatcher =>
  create(StringMatcherSchema, { matchPattern: { case: 'contains', value } })

/** envoy.type.matcher.v3.StringMatcher for a regular expression (RE2), which must match the whole value. */
export const matching = (regex: string): StringMatcher =>
  create(StringMatcherSchema, { matchPattern: { case: 'safeRegex', value: { regex } } })

/** The ADS stream that delivers all other resources too. */
export const ADS_SOURCE = create(ConfigSourceSchema, {
  configSourceSpecifier: { case: 'ads', value: {} },
  resourceApiVersion: ApiVersion.V3,
})
