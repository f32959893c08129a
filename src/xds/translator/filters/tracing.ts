// Builds Envoy's tracing configuration: the tracer of a connection manager, and the collector that it sends spans to.

import { create } from '@bufbuild/protobuf'
import type { Destination } from '../../../model/destination.js'
import { OTLP_CLUSTER } from '../../../model/names.js'
import { OpenTelemetryConfigSchema } from '../../../wire/grpc/generated/envoy/config/trace/v3/opentelemetry_pb.js'
import {
  type HttpConnectionManager_Tracing as Tracing,
  HttpConnectionManager_TracingSchema as TracingSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { durationOf, typedConfig } from '../messages.js'
import type { TracingOptions } from '../xds-resources.js'

const SERVICE_NAME = 'envoy'
/** Timeout of one delivery of spans. */
const EXPORT_MS = 10_000

/** envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager.Tracing */
export const buildTracing = ({ otlp, sampling }: TracingOptions): Tracing =>
  create(TracingSchema, {
    randomSampling: { value: sampling },
    // Paths may have secrets in their query, and Envoy's span has no way to leave only the query out.
    maxPathTagLength: 1,
    spawnUpstreamSpan: true,
    provider: {
      name: 'envoy.tracers.opentelemetry',
      configType: typedConfig(OpenTelemetryConfigSchema, {
        serviceName: SERVICE_NAME,
        httpService: {
          httpUri: {
            uri: `${otlp.replace(/\/$/, '')}/v1/traces`,
            httpUpstreamType: { case: 'cluster', value: OTLP_CLUSTER },
            timeout: durationOf(EXPORT_MS),
          },
        },
      }),
    },
  })

/** The cluster of the collector. Envoy may resolve its name, because only the operator can set it. */
export function collectorOf({ otlp }: TracingOptions): Destination {
  const { protocol, hostname, port } = new URL(otlp)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = protocol === 'https:'
  return {
    name: OTLP_CLUSTER,
    endpoints: { type: 'name', host, port: port === '' ? (isTls ? 443 : 80) : Number(port) },
    protocol: 'http1',
    ...(isTls && { tls: { hostname: host, subjectAltNames: [], authorities: 'System' } }),
  }
}
