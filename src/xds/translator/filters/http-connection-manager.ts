// Builds Envoy's HTTP connection manager of a filter chain: request parsing, normalisation and the HTTP filters.

import { create } from '@bufbuild/protobuf'
import type { FilterChain } from '../../../model/ir.js'
import { RESERVED_HEADERS, RESERVED_PREFIX } from '../../../model/reserved-headers.js'
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from '../../../wire/grpc/generated/envoy/config/core/v3/extension_pb.js'
import { HttpProtocolOptions_HeadersWithUnderscoresAction as UnderscoresAction } from '../../../wire/grpc/generated/envoy/config/core/v3/protocol_pb.js'
import {
  type Filter,
  FilterSchema,
} from '../../../wire/grpc/generated/envoy/config/listener/v3/listener_components_pb.js'
import {
  type HttpConnectionManager_InternalAddressConfigSchema as InternalAddressConfigSchema,
  HttpConnectionManager_PathWithEscapedSlashesAction as EscapedSlashesAction,
  HttpConnectionManager_ServerHeaderTransformation as ServerHeaderTransformation,
  HttpConnectionManagerSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { HeaderMutationSchema } from '../../../wire/grpc/generated/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'
import { ADS_SOURCE, durationOf, type FieldsOf, packed, typedConfig } from '../messages.js'
import type { XdsOptions } from '../xds-resources.js'
import { buildAccessLog } from './access-log.js'
import { httpFilters } from './filters.js'
import { LOCAL_REPLY_CONFIG } from './local-reply.js'
import { buildTracing } from './tracing.js'

/** The network filter that holds the HTTP filters. */
export const CONNECTION_MANAGER_FILTER = 'envoy.filters.network.http_connection_manager'

// Removes headers that only Gatehouse or Envoy may set from every request, before any filter or route sees them.

/** envoy.config.core.v3.TypedExtensionConfig */
const buildEarlyHeaderMutation = (): TypedExtensionConfig =>
  create(TypedExtensionConfigSchema, {
    name: 'envoy.http.early_header_mutation.header_mutation',
    typedConfig: packed(HeaderMutationSchema, {
      mutations: [
        {
          action: {
            case: 'removeOnMatch',
            value: {
              keyMatcher: {
                matchPattern: { case: 'prefix', value: RESERVED_PREFIX },
                ignoreCase: true,
              },
            },
          },
        },
        ...RESERVED_HEADERS.map((name) => ({
          action: { case: 'remove' as const, value: name },
        })),
      ],
    }),
  })

type ManagerFields = FieldsOf<typeof HttpConnectionManagerSchema>

/** Timeout of an idle request, unless its route sets another (decision 13b). */
const STREAM_IDLE_MS = 300_000
/** Timeout for the client's request headers. */
const REQUEST_HEADERS_MS = 30_000

/** Makes paths unambiguous before any route or filter reads them (decision 8). */
const PATH_FIELDS: ManagerFields = {
  normalizePath: true,
  mergeSlashes: true,
  pathWithEscapedSlashesAction: EscapedSlashesAction.REJECT_REQUEST,
}

/** The fields without which other Envoys' routes could be bypassed, and headers of Gatehouse forged. */
export const packedPathFields = packed(HttpConnectionManagerSchema, {
  ...PATH_FIELDS,
  earlyHeaderMutationExtensions: [buildEarlyHeaderMutation()],
})

/**
 * Trusts no address with x-envoy-* headers, not even private ones (CVE-2024-45806). An empty list would mean Envoy's
 * default, all private ranges; nothing can connect from the broadcast address.
 */
const NOBODY_IS_INTERNAL: FieldsOf<typeof InternalAddressConfigSchema> = {
  cidrRanges: [{ addressPrefix: '255.255.255.255', prefixLen: 32 }],
}

/**
 * Overwrites the scheme, which an HTTP/2 client can choose freely, with that of the connection. Behind trusted proxies
 * X-Forwarded-Proto has the scheme, which Envoy would overwrite as well.
 */
const schemeFields = (chain: FilterChain, { trustedHops }: XdsOptions): ManagerFields =>
  trustedHops > 0
    ? {}
    : {
        schemeHeaderTransformation: {
          transformation: {
            case: 'schemeToOverwrite',
            value: chain.tls === undefined ? 'http' : 'https',
          },
        },
      }

const managerFields = (chain: FilterChain, options: XdsOptions): ManagerFields => ({
  statPrefix: chain.name,
  routeSpecifier: {
    case: 'rds',
    value: { routeConfigName: chain.name, configSource: ADS_SOURCE },
  },
  httpFilters: httpFilters(),
  ...PATH_FIELDS,
  // Treats admin.example. as admin.example: for routes, rules (decision 4a) and backends.
  stripTrailingHostDot: true,
  useRemoteAddress: true,
  xffNumTrustedHops: options.trustedHops,
  ...schemeFields(chain, options),
  internalAddressConfig: NOBODY_IS_INTERNAL,
  earlyHeaderMutationExtensions: [buildEarlyHeaderMutation()],
  localReplyConfig: LOCAL_REPLY_CONFIG,
  commonHttpProtocolOptions: { headersWithUnderscoresAction: UnderscoresAction.REJECT_REQUEST },
  http2ProtocolOptions: { maxConcurrentStreams: 100 },
  // Off unless a route enables it; the type must be declared here for that.
  upgradeConfigs: [{ upgradeType: 'websocket', enabled: false }],
  streamIdleTimeout: durationOf(STREAM_IDLE_MS),
  requestHeadersTimeout: durationOf(REQUEST_HEADERS_MS),
  serverHeaderTransformation: ServerHeaderTransformation.PASS_THROUGH,
  // Includes replies of filters and of Envoy itself: a denied client can quote the ID of the log line with the reason.
  alwaysSetRequestIdInResponse: true,
  tracing: options.tracing && buildTracing(options.tracing),
  accessLog: options.accessLog ? [buildAccessLog()] : [],
})

/** envoy.config.listener.v3.Filter */
export const buildHttpConnectionManager = (chain: FilterChain, options: XdsOptions): Filter =>
  create(FilterSchema, {
    name: CONNECTION_MANAGER_FILTER,
    configType: typedConfig(HttpConnectionManagerSchema, managerFields(chain, options)),
  })
