// Starts the exports by OTLP. This module is loaded only if something is exported, as it costs time and memory.

import { randomUUID } from 'node:crypto'
import {
  type Context,
  type Logger as SdkLogger,
  ROOT_CONTEXT,
  SeverityNumber,
  trace,
  TraceFlags,
} from '@opentelemetry/api'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordProcessor,
  type ReadableLogRecord,
  type ReadWriteLogRecord,
} from '@opentelemetry/sdk-logs'
import type { WriteDecision } from '../../kit/decision-log.js'
import type { Tracer } from '../../kit/tracing.js'
import type { TelemetrySettings } from '../settings/telemetry.js'
import { CountedExporter, type CountItems } from './counted-exporter.js'
import { createTracer } from './create-tracer.js'
import { exportMetrics, type ReadMetrics } from './export-metrics.js'

/** What telemetry is started with. */
export interface TelemetryDeps {
  readonly version: string
  /** Number of this worker; absent: the main process. */
  readonly worker?: number | undefined
  /** Returns a function that counts the items of a signal. */
  readonly countOf: (signal: 'traces' | 'decisions') => CountItems
  /** Absent: this process exports no metrics, as the main process has them. */
  readonly readMetrics?: ReadMetrics | undefined
}

/** The running exports. */
export interface Telemetry {
  readonly tracer?: Tracer
  /** Writes a line of the decision log. */
  readonly write?: WriteDecision
  /** Sends whatever waits. Never rejects; the caller decides how long to wait. */
  close(): Promise<void>
}

/** Starts the exports that the settings name. */
export function startTelemetry(
  { traces, logs, metrics }: TelemetrySettings,
  { version, worker, countOf, readMetrics }: TelemetryDeps,
): Telemetry {
  const resource = createResource(version, worker)
  const tracing = traces && createTracer(traces, resource, countOf('traces'))
  const logging = logs && createLogWriter(logs, resource, countOf('decisions'))
  const stopMetrics =
    metrics && readMetrics ? exportMetrics(metrics, resource, readMetrics) : undefined
  return {
    ...(tracing && { tracer: tracing.tracer }),
    ...(logging && { write: logging.write }),
    async close() {
      await Promise.allSettled([tracing?.close(), logging?.close(), stopMetrics?.()])
    },
  }
}

// Describes this process to a collector, as the sender of spans, lines and metrics.

/** worker: number of the worker; absent: the main process. Variables of OpenTelemetry override all but the worker. */
export function createResource(version: string, worker: number | undefined): Resource {
  const given = detectResources({
    detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector],
  })
  const own = resourceFromAttributes({
    'service.name': 'gatehouse',
    'service.version': version,
    'service.instance.id': randomUUID(),
  })
  const all = defaultResource().merge(own).merge(given)
  if (worker === undefined) return all
  const named = given.attributes['service.instance.id']
  const instance = typeof named === 'string' ? named : randomUUID()
  return all.merge(
    resourceFromAttributes({
      'service.instance.id': `${instance}-worker-${String(worker)}`,
      'gatehouse.worker': worker,
    }),
  )
}

// Sends the lines of the decision log as OTLP log records.

/** A running exporter of lines. */
export interface OpenLogWriter {
  readonly write: WriteDecision
  /** Sends the waiting records. Rejects if the collector does not accept them. */
  close(): Promise<void>
}

/** Starts to export lines. */
function createLogWriter(
  { url, batch }: NonNullable<TelemetrySettings['logs']>,
  resource: Resource,
  count: CountItems,
): OpenLogWriter {
  const exporter = new CountedExporter<ReadableLogRecord>(
    new OTLPLogExporter(url === undefined ? {} : { url }),
    count,
    batch.maxQueueSize,
  )
  const processor = new AdmittedRecords(
    exporter,
    new BatchLogRecordProcessor({ exporter, ...batch }),
  )
  const provider = new LoggerProvider({ resource, processors: [processor] })
  const logger = provider.getLogger('gatehouse')
  return {
    write: (message, fields) => emit(logger, message, fields),
    close: () => provider.shutdown(),
  }
}

function emit(logger: SdkLogger, body: string, fields: object): void {
  const { traceId, spanId, ...rest } = fields as Readonly<Record<string, unknown>>
  logger.emit({
    body,
    eventName: `gatehouse.${body.replaceAll(' ', '_')}`,
    severityNumber: SeverityNumber.INFO,
    severityText: 'INFO',
    attributes: Object.fromEntries(
      Object.entries(rest).map(([name, value]) => [`gatehouse.${name}`, value]),
    ),
    context: contextOf(traceId, spanId),
  })
}

const contextOf = (traceId: unknown, spanId: unknown): Context =>
  typeof traceId === 'string' && typeof spanId === 'string'
    ? trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.NONE })
    : ROOT_CONTEXT

/** Passes on only the records that the queue has room for. */
class AdmittedRecords implements LogRecordProcessor {
  readonly #exporter: CountedExporter<ReadableLogRecord>
  readonly #inner: LogRecordProcessor

  constructor(exporter: CountedExporter<ReadableLogRecord>, inner: LogRecordProcessor) {
    this.#exporter = exporter
    this.#inner = inner
  }

  onEmit(record: ReadWriteLogRecord): void {
    if (this.#exporter.admit()) this.#inner.onEmit(record)
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush()
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown()
  }
}
