// Builds an access log with one JSON line per request on Envoy's standard output. It has no header or claim values,
// which may be secrets.

import { create } from '@bufbuild/protobuf'
import { AUDIT_REASON_KEY, CLAIMS_NAMESPACE, REASON_KEY } from '../../../model/names.js'
import {
  type AccessLog,
  AccessLogSchema,
} from '../../../wire/grpc/generated/envoy/config/accesslog/v3/accesslog_pb.js'
import { StdoutAccessLogSchema } from '../../../wire/grpc/generated/envoy/extensions/access_loggers/stream/v3/stream_pb.js'
import { typedConfig } from '../messages.js'
import { REFUSED_500 } from './local-reply.js'

const HEADER = 'request.headers["traceparent"]'

const LINE = {
  start: '%START_TIME%',
  method: '%REQ(:METHOD)%',
  authority: '%REQ(:AUTHORITY)%',
  path: '%PATH(NQ)%',
  route: '%ROUTE_NAME%',
  status: '%RESPONSE_CODE%',
  flags: '%RESPONSE_FLAGS%',
  details: '%RESPONSE_CODE_DETAILS%',
  duration_ms: '%DURATION%',
  upstream: '%UPSTREAM_HOST%',
  reason: `%DYNAMIC_METADATA(${CLAIMS_NAMESPACE}:${REASON_KEY})%`,
  audit_reason: `%DYNAMIC_METADATA(${CLAIMS_NAMESPACE}:${AUDIT_REASON_KEY})%`,
  refused: `%REQ(${REFUSED_500})%`,
  request_id: '%REQ(X-REQUEST-ID)%',
  // Anything else in this header is text of the client, which may be a secret.
  trace_parent: `%CEL(${HEADER}.matches('^00-[0-9a-f-]+$') ? ${HEADER} : ''):55%`,
}

/** envoy.config.accesslog.v3.AccessLog */
export const buildAccessLog = (): AccessLog =>
  create(AccessLogSchema, {
    name: 'envoy.access_loggers.stdout',
    configType: typedConfig(StdoutAccessLogSchema, {
      accessLogFormat: {
        case: 'logFormat',
        value: { format: { case: 'jsonFormat', value: LINE } },
      },
    }),
  })
