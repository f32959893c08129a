// Converts Envoy messages to the JSON of an EnvoyFilter.

import type { Any } from '@bufbuild/protobuf/wkt'
import { AnySchema } from '@bufbuild/protobuf/wkt'
import type { JsonObject } from '../../../../model/json.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { messageJson } from '../../../../xds/encode/read.js'

/** JSON of a typed message, with its "@type". */
export const anyJson = (any: Any): JsonObject => messageJson(AnySchema, any)

/** An HTTP filter in JSON. */
export const filterJson = (filter: HttpFilter): JsonObject => messageJson(HttpFilterSchema, filter)

/** google.protobuf.Duration in JSON. */
export const durationJson = (ms: number): string => `${ms / 1000}s`
