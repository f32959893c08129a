// Answers of Envoy's own that must carry the CORS headers, which it adds to no direct_response: requests to a cluster
// without endpoints carry a mark, and Envoy's own reply to those is mapped. Should a mark get lost, that reply is 503.
// And those that it gives where Gatehouse does not: they say when to come again.

import { create } from '@bufbuild/protobuf'
import {
  type AccessLogFilter,
  AccessLogFilterSchema,
  ComparisonFilter_Op,
  ExtensionFilterSchema,
} from '../../grpc/generated/envoy/config/accesslog/v3/accesslog_pb.js'
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from '../../grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type HeaderMatcherSchema,
  type RouteAction,
  RouteActionSchema,
} from '../../grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { ExpressionFilterSchema } from '../../grpc/generated/envoy/extensions/access_loggers/filters/cel/v3/cel_pb.js'
import {
  LocalReplyConfigSchema,
  type ResponseMapper,
  ResponseMapperSchema,
} from '../../grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { UNRESOLVED_CLUSTER } from '../../ir/names.js'
import type { RefuseAction } from '../../ir/route.js'
import { type FieldsOf, inlineString, typedConfig } from './messages.js'

/**
 * A weighted cluster can only fail with 503, but the share of a route's traffic whose backendRef does not resolve gets
 * 500, as the Gateway API wants. Clients cannot send it: every header of this prefix is removed first (early-headers.ts).
 */
export const UNRESOLVED_HEADER = 'x-gatehouse-unresolved'

const mark = (key: string, value: string): HeaderValueOption =>
  create(HeaderValueOptionSchema, {
    header: { key, value },
    appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
  })

export const UNRESOLVED_MARK = mark(UNRESOLVED_HEADER, '1')

const refusedHeader = (status: RefuseAction['status']): string =>
  `x-gatehouse-refused-${String(status)}`

/** A header's value has one line; "%" begins a substitution. */
const headerText = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .replaceAll('%', '%%')

/** envoy.config.route.v3.RouteAction. The mark's value is the text of the answer. */
export const buildRefusal = ({ status, body }: RefuseAction): RouteAction =>
  create(RouteActionSchema, {
    clusterSpecifier: {
      case: 'weightedClusters',
      value: {
        clusters: [
          {
            name: UNRESOLVED_CLUSTER,
            weight: 1,
            requestHeadersToAdd: [mark(refusedHeader(status), headerText(body))],
          },
        ],
      },
    },
  })

const headerFilter = (header: FieldsOf<typeof HeaderMatcherSchema>): AccessLogFilter =>
  create(AccessLogFilterSchema, { filterSpecifier: { case: 'headerFilter', value: { header } } })

const marked = (name: string): AccessLogFilter =>
  headerFilter({ name, headerMatchSpecifier: { case: 'presentMatch', value: true } })

const refusalMapper = (status: RefuseAction['status']): ResponseMapper =>
  create(ResponseMapperSchema, {
    filter: marked(refusedHeader(status)),
    statusCode: status,
    bodyFormatOverride: {
      format: {
        case: 'textFormatSource',
        value: inlineString(`%REQ(${refusedHeader(status)})%`),
      },
    },
  })

/** Of the OAuth documents: below these paths no backend is waited for. */
const DOCUMENT_PATHS = '/.well-known/o'

const isDocument = headerFilter({
  name: ':path',
  headerMatchSpecifier: {
    case: 'stringMatch',
    value: { matchPattern: { case: 'prefix', value: DOCUMENT_PATHS } },
  },
})

const isLate = create(AccessLogFilterSchema, {
  filterSpecifier: {
    case: 'statusCodeFilter',
    value: {
      comparison: {
        op: ComparisonFilter_Op.EQ,
        value: { defaultValue: 504, runtimeKey: 'gatehouse.late' },
      },
    },
  },
})

/** Gatehouse starts within a second or two. */
const RETRY_SOON = mark('retry-after', '1')

/**
 * The OAuth documents when Gatehouse does not answer in time: status_on_error is not for that, and Envoy says 504. To a
 * caller it is the same as Gatehouse being gone.
 */
const LATE_DOCUMENT_MAPPER = create(ResponseMapperSchema, {
  filter: {
    filterSpecifier: { case: 'andFilter', value: { filters: [isLate, isDocument] } },
  },
  statusCode: 503,
  headersToAdd: [RETRY_SOON],
})

/** Envoy got no answer of Gatehouse: it is gone or starts again, or has no room for another call on a connection. */
const isUnanswered = create(AccessLogFilterSchema, {
  filterSpecifier: {
    case: 'extensionFilter',
    value: create(ExtensionFilterSchema, {
      name: 'envoy.access_loggers.extension_filters.cel',
      configType: typedConfig(ExpressionFilterSchema, {
        expression: ['ext_authz_error', 'ext_proc_error']
          .map((details) => `response.code_details.startsWith("${details}")`)
          .join(' || '),
      }),
    }),
  },
})

const UNANSWERED_MAPPER = create(ResponseMapperSchema, {
  filter: isUnanswered,
  headersToAdd: [RETRY_SOON],
})

const UNRESOLVED_MAPPER = create(ResponseMapperSchema, {
  filter: marked(UNRESOLVED_HEADER),
  statusCode: 500,
  body: inlineString('the backend of this route does not exist\n'),
})

export const LOCAL_REPLY_CONFIG = create(LocalReplyConfigSchema, {
  mappers: [
    UNRESOLVED_MAPPER,
    refusalMapper(500),
    refusalMapper(503),
    LATE_DOCUMENT_MAPPER,
    UNANSWERED_MAPPER,
  ],
})
