// Builds the ext_authz filter, which asks Gatehouse about every request, and its configuration per route.

import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import {
  EXT_AUTHZ_CLUSTER,
  HEAD_CONTEXT_KEY,
  RELAY_COOKIES_KEY,
  ROUTE_CONTEXT_KEY,
} from '../../../model/names.js'
import type { Route } from '../../../model/route.js'
import { RetryPolicySchema } from '../../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import { ApiVersion } from '../../../wire/grpc/generated/envoy/config/core/v3/config_source_pb.js'
import {
  type CheckSettingsSchema,
  ExtAuthzPerRouteSchema,
  ExtAuthzSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { PreviousHostsPredicateSchema } from '../../../wire/grpc/generated/envoy/extensions/retry/host/previous_hosts/v3/previous_hosts_pb.js'
import { StatusCode } from '../../../wire/grpc/generated/envoy/type/v3/http_status_pb.js'
import { durationOf, type FieldsOf, type FilterServer, packed, typedConfig } from '../messages.js'
import type { FilterDefinition } from './filter.js'

/** Asks ext_authz before a request passes. */
export const EXT_AUTHZ_FILTER = 'envoy.filters.http.ext_authz'

/** Asks ext_authz about the headers alone, on routes whose check needs the body too. */
const HEAD_FILTER = 'gatehouse.head'

/** ext_authz for routes that are only audited. */
export const AUDIT_FILTER = 'gatehouse.audit'

/** Exceeds the second that a check may wait for a key set's extra fetch (decision 2). */
const CHECK_TIMEOUT_MS = 2_000

/**
 * Checks are read-only and safe to retry: if a replica is gone, another one answers within the same timeout. Without the
 * predicate, a retry may go to the replica that has just failed.
 */
const RETRIES = create(RetryPolicySchema, {
  numRetries: 2,
  retryOn: 'connect-failure,refused-stream,reset,unavailable',
  retryHostPredicate: [
    {
      name: 'envoy.retry_host_predicates.previous_hosts',
      configType: typedConfig(PreviousHostsPredicateSchema),
    },
  ],
  hostSelectionRetryMaxAttempts: 5n,
})

/**
 * Envoy reads pack_as_bytes only here; with it, a body that is not UTF-8 arrives unchanged. The size applies to routes that
 * do not configure bodies: there are none but those that checksAll adds.
 */
const BODY_AS_BYTES = { maxRequestBytes: 1, packAsBytes: true }

/** Options for Envoys that another control plane configures. */
export interface ExtAuthzOptions {
  readonly server?: FilterServer
  /** Whether Envoy selects the route again after the check; if not all routes are sealed, that may be one never authorized. */
  readonly clearRouteCache?: boolean
  /** Whether routes without settings of their own are checked too. Gatehouse denies these, and their bodies may have any size. */
  readonly checksAll?: boolean
}

const OWN_SERVER: FilterServer = { clusterName: EXT_AUTHZ_CLUSTER }

/**
 * envoy.extensions.filters.http.ext_authz.v3.ExtAuthz: on for every route that does not disable it; Envoy answers 503
 * if the server is unavailable.
 * Every header is sent: connections keep their initial listener, and a list of the headers that rules read would hide
 * headers from new rules for as long as those connections live.
 * encode_raw_headers: repeated headers arrive unjoined, and bytes that are not UTF-8 are not replaced.
 */
export const buildExtAuthzFilter = ({
  server = OWN_SERVER,
  clearRouteCache = false,
  checksAll = false,
}: ExtAuthzOptions = {}): HttpFilter =>
  create(HttpFilterSchema, {
    name: EXT_AUTHZ_FILTER,
    configType: typedConfig(ExtAuthzSchema, {
      ...filterFields(clearRouteCache),
      ...(checksAll && { withRequestBody: { ...BODY_AS_BYTES, allowPartialMessage: true } }),
      transportApiVersion: ApiVersion.V3,
      services: checkedBy(server),
      failureModeAllow: false,
      statPrefix: 'gatehouse',
    }),
  })

const checkedBy = (server: FilterServer): FieldsOf<typeof ExtAuthzSchema>['services'] => ({
  case: 'grpcService',
  value: {
    targetSpecifier: { case: 'envoyGrpc', value: server },
    timeout: durationOf(CHECK_TIMEOUT_MS),
    retryPolicy: RETRIES,
  },
})

/**
 * The same for the headers of requests whose body is checked too, and off for all others. Envoy holds a body before its
 * check for as long as the client likes; behind this filter only for a client with a valid token.
 */
const buildHeadFilter = (): HttpFilter =>
  create(HttpFilterSchema, {
    name: HEAD_FILTER,
    disabled: true,
    configType: typedConfig(ExtAuthzSchema, {
      transportApiVersion: ApiVersion.V3,
      services: checkedBy(OWN_SERVER),
      failureModeAllow: false,
      statusOnError: { code: StatusCode.ServiceUnavailable },
      encodeRawHeaders: true,
      validateMutations: true,
      statPrefix: 'gatehouse_head',
    }),
  })

/** Fields that checks need in any filter that makes them. */
const filterFields = (clearRouteCache: boolean): FieldsOf<typeof ExtAuthzSchema> => ({
  statusOnError: { code: StatusCode.ServiceUnavailable },
  encodeRawHeaders: true,
  withRequestBody: BODY_AS_BYTES,
  clearRouteCache,
  validateMutations: true,
})

/** The part of ExtAuthz to merge into a filter of another control plane. */
export const packedExtAuthzFields = (clearRouteCache: boolean): Any =>
  packed(ExtAuthzSchema, filterFields(clearRouteCache))

/** A check takes well under a millisecond. A route that is only audited must not wait for a Gatehouse that hangs. */
const AUDIT_TIMEOUT_MS = 1_000

/**
 * The same for routes that are only audited, and off for all others: their requests pass if the server does not answer.
 */
export const buildAuditFilter = (server = OWN_SERVER): HttpFilter =>
  create(HttpFilterSchema, {
    name: AUDIT_FILTER,
    disabled: true,
    configType: typedConfig(ExtAuthzSchema, {
      transportApiVersion: ApiVersion.V3,
      services: {
        case: 'grpcService',
        value: {
          targetSpecifier: { case: 'envoyGrpc', value: server },
          timeout: durationOf(AUDIT_TIMEOUT_MS),
        },
      },
      failureModeAllow: true,
      encodeRawHeaders: true,
      withRequestBody: BODY_AS_BYTES,
      clearRouteCache: false,
      validateMutations: true,
      statPrefix: 'gatehouse_audit',
    }),
  })

const PUBLIC = packed(ExtAuthzPerRouteSchema, { override: { case: 'disabled', value: true } })

type AuthzOfRoute = Pick<Route, 'authzBodyBytes' | 'isBodyAudited'>

/** Asks Gatehouse about the headers alone, where the check needs the body too. */
export const headFilter: FilterDefinition = {
  name: HEAD_FILTER,
  listener: buildHeadFilter,
  route: ({ authz, isAudited, checksHead }) =>
    authz === undefined || isAudited === true || checksHead !== true
      ? undefined
      : buildHeadSettings(authz),
}

/** Asks Gatehouse about every request; a route without an AuthzEntry, or with an audited one alone, is explicitly public. */
export const extAuthzFilter: FilterDefinition = {
  name: EXT_AUTHZ_FILTER,
  listener: buildExtAuthzFilter,
  route: (route) => {
    if (route.authz !== undefined && route.isAudited !== true)
      return buildCheckSettings(route.authz, route)
    return route.removesRelayCookies === true ? buildCookieRemoval() : PUBLIC
  },
}

/** Asks Gatehouse about requests of routes that are only audited. */
export const auditFilter: FilterDefinition = {
  name: AUDIT_FILTER,
  listener: buildAuditFilter,
  route: (route) =>
    route.authz !== undefined && route.isAudited === true
      ? buildCheckSettings(route.authz, route)
      : undefined,
}

/** The typed_per_filter_config of a route that is never checked. */
export const UNCHECKED: Record<string, Any> = { [EXT_AUTHZ_FILTER]: PUBLIC }

const buildHeadSettings = (authz: string): Any =>
  packed(ExtAuthzPerRouteSchema, {
    override: {
      case: 'checkSettings',
      value: { contextExtensions: { [ROUTE_CONTEXT_KEY]: authz, [HEAD_CONTEXT_KEY]: 'true' } },
    },
  })

const buildCookieRemoval = (): Any => buildCheckSettings(RELAY_COOKIES_KEY, {})

/** ExtAuthzPerRoute of a route that is checked. authz: key of the AuthzEntry. */
export const buildCheckSettings = (authz: string, route: AuthzOfRoute): Any =>
  packed(ExtAuthzPerRouteSchema, {
    override: {
      case: 'checkSettings',
      value: { contextExtensions: { [ROUTE_CONTEXT_KEY]: authz }, ...bodyFields(route) },
    },
  })

/** Returns the body fields. A larger body is answered 413, unless it is read by policies of mode Audit alone. */
const bodyFields = ({
  authzBodyBytes: maxRequestBytes,
  isBodyAudited,
}: AuthzOfRoute): FieldsOf<typeof CheckSettingsSchema> =>
  maxRequestBytes === undefined
    ? { disableRequestBodyBuffering: true }
    : {
        withRequestBody: {
          maxRequestBytes,
          packAsBytes: true,
          ...(isBodyAudited === true ? { allowPartialMessage: true } : {}),
        },
      }
