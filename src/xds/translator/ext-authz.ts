// The ext_authz filter, which asks Gatehouse about every request, and what a route says to it.

import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { ApiVersion } from '../../grpc/generated/envoy/config/core/v3/config_source_pb.js'
import {
  type CheckSettingsSchema,
  ExtAuthzPerRouteSchema,
  ExtAuthzSchema,
} from '../../grpc/generated/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { StatusCode } from '../../grpc/generated/envoy/type/v3/http_status_pb.js'
import { EXT_AUTHZ_CLUSTER, ROUTE_CONTEXT_KEY } from '../../ir/names.js'
import type { Route } from '../../ir/route.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'
import { durationOf, type FieldsOf, packed, typedConfig } from './messages.js'

/** Above the 500 ms that a check may wait for a key set's extra fetch (decision 2). */
const CHECK_TIMEOUT_MS = 2_000

/** A check asks and changes nothing: where its replica is gone, another one answers, within the same time. */
const RETRIES = { numRetries: 2, retryOn: 'connect-failure,refused-stream,reset,unavailable' }

/**
 * Envoy reads pack_as_bytes here alone, and with it a body that is not UTF-8 arrives as it is. The size is that of a
 * route which says nothing about bodies: none of ours does, so it need not be of any use.
 */
const BODY_AS_BYTES = { maxRequestBytes: 1, packAsBytes: true }

/**
 * envoy.extensions.filters.http.ext_authz.v3.ExtAuthz: enabled for every route that does not switch it off, and closed when
 * the server is away.
 * Every header is sent: connections keep the listener that they began with, and a list of those that rules read would
 * hide from a new rule what it reads, for as long as they live.
 * encode_raw_headers: repeated headers arrive as they came, not joined; bytes that are not UTF-8 are not replaced.
 */
export const buildExtAuthzFilter = (): HttpFilter =>
  create(HttpFilterSchema, {
    name: EXT_AUTHZ_FILTER,
    configType: typedConfig(ExtAuthzSchema, {
      transportApiVersion: ApiVersion.V3,
      services: {
        case: 'grpcService',
        value: {
          targetSpecifier: { case: 'envoyGrpc', value: { clusterName: EXT_AUTHZ_CLUSTER } },
          timeout: durationOf(CHECK_TIMEOUT_MS),
          retryPolicy: RETRIES,
        },
      },
      failureModeAllow: false,
      statusOnError: { code: StatusCode.ServiceUnavailable },
      encodeRawHeaders: true,
      withRequestBody: BODY_AS_BYTES,
      // The route must not be chosen anew after the check: the new one may never have been authorized.
      clearRouteCache: false,
      validateMutations: true,
      statPrefix: 'gatehouse',
    }),
  })

const PUBLIC = packed(ExtAuthzPerRouteSchema, { override: { case: 'disabled', value: true } })

/** ExtAuthzPerRoute. authz: key of the AuthzEntry; absent: the route is public, said explicitly. */
export const buildExtAuthzPerRoute = ({
  authz,
  authzBodyBytes,
}: Pick<Route, 'authz' | 'authzBodyBytes'>): Any =>
  authz === undefined
    ? PUBLIC
    : packed(ExtAuthzPerRouteSchema, {
        override: {
          case: 'checkSettings',
          value: {
            contextExtensions: { [ROUTE_CONTEXT_KEY]: authz },
            ...bodyFields(authzBodyBytes),
          },
        },
      })

/** A body that is larger is answered 413: allow_partial_message stays off. */
const bodyFields = (maxRequestBytes: number | undefined): FieldsOf<typeof CheckSettingsSchema> =>
  maxRequestBytes === undefined
    ? { disableRequestBodyBuffering: true }
    : { withRequestBody: { maxRequestBytes, packAsBytes: true } }
