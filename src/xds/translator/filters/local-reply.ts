// Maps Envoy's own replies. Refusals need CORS headers, which Envoy adds to no direct_response: such requests are
// marked and sent to a cluster without endpoints, whose 503 is mapped by the mark. If a mark is lost, the reply stays
// 503. Replies that Envoy gives because Gatehouse does not answer get Retry-After.

import { create } from '@bufbuild/protobuf'
import { UNRESOLVED_CLUSTER, UPGRADE_REFUSED } from '../../../model/names.js'
import type { RefuseAction } from '../../../model/route.js'
import {
  type AccessLogFilter,
  AccessLogFilterSchema,
  ComparisonFilter_Op,
  ExtensionFilterSchema,
} from '../../../wire/grpc/generated/envoy/config/accesslog/v3/accesslog_pb.js'
import {
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction as AppendAction,
  HeaderValueOptionSchema,
} from '../../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type HeaderMatcherSchema,
  type RouteAction,
  RouteActionSchema,
} from '../../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { ExpressionFilterSchema } from '../../../wire/grpc/generated/envoy/extensions/access_loggers/filters/cel/v3/cel_pb.js'
import {
  LocalReplyConfigSchema,
  type ResponseMapper,
  ResponseMapperSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { type FieldsOf, inlineString, typedConfig } from '../messages.js'
import { HAS_SEVERAL_HOSTS } from './one-host.js'

/**
 * Marks the share of a route's traffic whose backendRef does not resolve: a weighted cluster can only fail with 503,
 * but the Gateway API requires 500. Clients cannot send it: headers with this prefix are removed first
 * (http-connection-manager.ts).
 */
export const UNRESOLVED_HEADER = 'x-gatehouse-unresolved'

const mark = (key: string, value: string): HeaderValueOption =>
  create(HeaderValueOptionSchema, {
    header: { key, value },
    appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
  })

/** Marks requests whose backend cannot be resolved. */
export const UNRESOLVED_MARK = mark(UNRESOLVED_HEADER, '1')

const refusedHeader = (status: RefuseAction['status']): string =>
  `x-gatehouse-refused-${String(status)}`

/** Header with the text of Envoy's own 500, for its access log. */
export const REFUSED_500 = refusedHeader(500)

/** Escapes text for a header value, which has a single line and in which "%" begins a substitution. */
const headerText = (text: string): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .replaceAll('%', '%%')

/** envoy.config.route.v3.RouteAction. The mark's value is the text of the reply. */
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

/** Path prefix of the OAuth documents, below which no request waits for a backend. */
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

/** Retry-After for clients: Gatehouse starts within a second or two. */
const RETRY_SOON = mark('retry-after', '1')

/**
 * Maps 504 to 503 for the OAuth documents: status_on_error does not cover timeouts, and to a client a late Gatehouse is
 * the same as one that is gone.
 */
const LATE_DOCUMENT_MAPPER = create(ResponseMapperSchema, {
  filter: {
    filterSpecifier: { case: 'andFilter', value: { filters: [isLate, isDocument] } },
  },
  statusCode: 503,
  headersToAdd: [RETRY_SOON],
})

/** Matches replies whose details, which Envoy sets, begin with one of these texts. */
const withDetails = (...beginnings: readonly string[]): AccessLogFilter =>
  create(AccessLogFilterSchema, {
    filterSpecifier: {
      case: 'extensionFilter',
      value: create(ExtensionFilterSchema, {
        name: 'envoy.access_loggers.extension_filters.cel',
        configType: typedConfig(ExpressionFilterSchema, {
          expression: beginnings
            .map((details) => `response.code_details.startsWith("${details}")`)
            .join(' || '),
        }),
      }),
    },
  })

/** Maps replies for which Gatehouse gave no answer: it is gone or restarting, or its connection has no room for a call. */
const UNANSWERED_MAPPER = create(ResponseMapperSchema, {
  filter: withDetails('ext_authz_error', 'ext_proc_error'),
  headersToAdd: [RETRY_SOON],
})

/**
 * Maps Envoy's 403 for an upgrade that a route does not accept. Clients that prefer a WebSocket, such as Codex, go on over
 * HTTP after a 426 alone.
 */
const UPGRADE_MAPPER = create(ResponseMapperSchema, {
  filter: withDetails('upgrade_failed'),
  statusCode: UPGRADE_REFUSED.status,
  body: inlineString(UPGRADE_REFUSED.body),
})

const UNRESOLVED_MAPPER = create(ResponseMapperSchema, {
  filter: marked(UNRESOLVED_HEADER),
  statusCode: 500,
  body: inlineString('the backend of this route does not exist\n'),
})

/** Maps what one-host.ts refuses. */
const SEVERAL_HOSTS_MAPPER = create(ResponseMapperSchema, {
  filter: headerFilter(HAS_SEVERAL_HOSTS),
  statusCode: 400,
  body: inlineString('a request names one host\n'),
})

/** The mappers of Envoy's own replies. */
export const LOCAL_REPLY_CONFIG = create(LocalReplyConfigSchema, {
  mappers: [
    SEVERAL_HOSTS_MAPPER,
    UNRESOLVED_MAPPER,
    refusalMapper(500),
    refusalMapper(503),
    LATE_DOCUMENT_MAPPER,
    UNANSWERED_MAPPER,
    UPGRADE_MAPPER,
  ],
})
