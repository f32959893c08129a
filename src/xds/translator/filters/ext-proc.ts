// Builds the ext_proc filter, which opens no stream by default, and its configuration per route.

import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import {
  CLAIMS_NAMESPACE,
  CLIENT_METADATA_KEY,
  EXT_PROC_CLUSTER,
  ROUTE_METADATA_KEY,
} from '../../../model/names.js'
import type { ProcAttachment } from '../../../model/route.js'
import {
  ExternalProcessorSchema,
  ExtProcPerRouteSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/ext_proc_pb.js'
import {
  type ProcessingMode,
  ProcessingMode_BodySendMode as BodyMode,
  ProcessingMode_HeaderSendMode as HeaderMode,
  ProcessingModeSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { StatusCode } from '../../../wire/grpc/generated/envoy/type/v3/http_status_pb.js'
import { durationOf, type FilterServer, packed, typedConfig } from '../messages.js'
import type { FilterDefinition } from './filter.js'

/** Guards and answers requests through ext_proc. */
export const EXT_PROC_FILTER = 'envoy.filters.http.ext_proc'

/** ext_proc that holds bodies until they are whole, on routes whose check needs them. */
const BODY_FILTER = 'gatehouse.body'

/** ext_proc for copies of traffic, whose answers Envoy ignores. */
const GUARD_AUDIT_FILTER = 'gatehouse.guard_audit'

/** Exceeds the 10 s that a proxied registration may take. Does not apply in full duplex. */
const MESSAGE_TIMEOUT_MS = 12_000

const OFF = {
  requestHeaderMode: HeaderMode.SKIP,
  responseHeaderMode: HeaderMode.SKIP,
  requestBodyMode: BodyMode.NONE,
  responseBodyMode: BodyMode.NONE,
  requestTrailerMode: HeaderMode.SKIP,
  responseTrailerMode: HeaderMode.SKIP,
}

/**
 * Processing modes per route. Full duplex requires trailers to be sent; Envoy validates that for the filter, but not
 * for a route's override.
 */
const PROCESSING_MODES: Readonly<Record<ProcAttachment['mode'], ProcessingMode>> = {
  'well-known': create(ProcessingModeSchema, {
    ...OFF,
    requestHeaderMode: HeaderMode.SEND,
    requestBodyMode: BodyMode.BUFFERED,
  }),
  guard: create(ProcessingModeSchema, {
    requestHeaderMode: HeaderMode.SEND,
    responseHeaderMode: HeaderMode.SEND,
    requestBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
    responseBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
    requestTrailerMode: HeaderMode.SEND,
    responseTrailerMode: HeaderMode.SEND,
  }),
  lists: create(ProcessingModeSchema, {
    ...OFF,
    requestHeaderMode: HeaderMode.SEND,
    responseHeaderMode: HeaderMode.SEND,
    responseBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
    responseTrailerMode: HeaderMode.SEND,
  }),
  sessions: create(ProcessingModeSchema, { ...OFF, responseHeaderMode: HeaderMode.SEND }),
}

const OWN_SERVER: FilterServer = { clusterName: EXT_PROC_CLUSTER }

/**
 * envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor. grpc_service has no timeout: it would limit the whole
 * stream, and with it every event stream.
 */
export const buildExtProcFilter = (server: FilterServer = OWN_SERVER): HttpFilter =>
  create(HttpFilterSchema, {
    name: EXT_PROC_FILTER,
    configType: typedConfig(ExternalProcessorSchema, {
      grpcService: { targetSpecifier: { case: 'envoyGrpc', value: server } },
      failureModeAllow: false,
      statusOnError: { code: StatusCode.ServiceUnavailable },
      messageTimeout: durationOf(MESSAGE_TIMEOUT_MS),
      processingMode: OFF,
      allowContentLengthHeader: true,
      metadataOptions: {
        forwardingNamespaces: { untyped: [CLAIMS_NAMESPACE] },
        // The reason of a refusal, for access logs.
        receivingNamespaces: { untyped: [CLAIMS_NAMESPACE] },
      },
      statPrefix: 'gatehouse',
    }),
  })

/** Time that Envoy leaves the stream of copies open after the request has ended. */
const AUDIT_CLOSE_MS = 10_000

/**
 * The same for copies, off unless a route enables it. observability_mode: Envoy sends everything on without waiting, and
 * ignores answers and failures.
 */
const buildGuardAuditFilter = (server: FilterServer = OWN_SERVER): HttpFilter =>
  create(HttpFilterSchema, {
    name: GUARD_AUDIT_FILTER,
    disabled: true,
    configType: typedConfig(ExternalProcessorSchema, {
      grpcService: { targetSpecifier: { case: 'envoyGrpc', value: server } },
      failureModeAllow: true,
      observabilityMode: true,
      deferredCloseTimeout: durationOf(AUDIT_CLOSE_MS),
      processingMode: OFF,
      metadataOptions: { forwardingNamespaces: { untyped: [CLAIMS_NAMESPACE] } },
      statPrefix: 'gatehouse_guard_audit',
    }),
  })

const COPIES = create(ProcessingModeSchema, {
  requestHeaderMode: HeaderMode.SEND,
  responseHeaderMode: HeaderMode.SEND,
  requestBodyMode: BodyMode.STREAMED,
  responseBodyMode: BodyMode.STREAMED,
  requestTrailerMode: HeaderMode.SEND,
  responseTrailerMode: HeaderMode.SEND,
})

/** ExtProcPerRoute of a route whose traffic is copied. key: of its GuardAuditEntry. */
const buildGuardAuditPerRoute = (key: string): Any =>
  packed(ExtProcPerRouteSchema, {
    override: {
      case: 'overrides',
      value: {
        processingMode: COPIES,
        grpcInitialMetadata: [{ key: ROUTE_METADATA_KEY, value: key }],
      },
    },
  })

/**
 * The same in front of ext_authz, off unless a route enables it: Envoy would hold a body there as long as the client likes,
 * and those of all clients without a limit.
 */
const buildBodyFilter = (): HttpFilter =>
  create(HttpFilterSchema, {
    name: BODY_FILTER,
    disabled: true,
    configType: typedConfig(ExternalProcessorSchema, {
      grpcService: { targetSpecifier: { case: 'envoyGrpc', value: OWN_SERVER } },
      failureModeAllow: false,
      statusOnError: { code: StatusCode.ServiceUnavailable },
      messageTimeout: durationOf(MESSAGE_TIMEOUT_MS),
      processingMode: OFF,
      allowContentLengthHeader: true,
      // The reason of a refusal, for access logs.
      metadataOptions: { receivingNamespaces: { untyped: [CLAIMS_NAMESPACE] } },
      statPrefix: 'gatehouse_body',
    }),
  })

const WHOLE_REQUESTS = create(ProcessingModeSchema, {
  ...OFF,
  requestHeaderMode: HeaderMode.SEND,
  requestBodyMode: BodyMode.FULL_DUPLEX_STREAMED,
  requestTrailerMode: HeaderMode.SEND,
})

/** ExtProcPerRoute of a route whose bodies are held. key: of its UncheckedBodyEntry. */
const buildBodyPerRoute = (key: string): Any =>
  packed(ExtProcPerRouteSchema, {
    override: {
      case: 'overrides',
      value: {
        processingMode: WHOLE_REQUESTS,
        grpcInitialMetadata: [{ key: ROUTE_METADATA_KEY, value: key }],
      },
    },
  })

/** The client's address as the trusted hops determine it, as in ext_authz's source. */
const CLIENT_ADDRESS = {
  key: CLIENT_METADATA_KEY,
  value: '%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%',
}

/** ExtProcPerRoute */
export const buildExtProcPerRoute = (proc: ProcAttachment): Any =>
  packed(ExtProcPerRouteSchema, {
    override: {
      case: 'overrides',
      value: {
        processingMode: PROCESSING_MODES[proc.mode],
        grpcInitialMetadata: [
          { key: ROUTE_METADATA_KEY, value: proc.key },
          ...(proc.mode === 'well-known' ? [CLIENT_ADDRESS] : []),
        ],
      },
    },
  })

/** Holds bodies until they are whole, in front of the check that needs them. */
export const bodyFilter: FilterDefinition = {
  name: BODY_FILTER,
  listener: buildBodyFilter,
  route: ({ uncheckedBody }) =>
    uncheckedBody === undefined ? undefined : buildBodyPerRoute(uncheckedBody),
}

/** Guards and answers requests. */
export const extProcFilter: FilterDefinition = {
  name: EXT_PROC_FILTER,
  listener: buildExtProcFilter,
  route: ({ proc }) => proc && buildExtProcPerRoute(proc),
}

/** Copies traffic for webhooks of mode Audit. */
export const guardAuditFilter: FilterDefinition = {
  name: GUARD_AUDIT_FILTER,
  listener: buildGuardAuditFilter,
  route: ({ procAudit }) =>
    procAudit === undefined ? undefined : buildGuardAuditPerRoute(procAudit),
}
