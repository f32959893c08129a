// Sends the lines of the decision log as OTLP log records.

import {
  type Context,
  type Logger as SdkLogger,
  ROOT_CONTEXT,
  SeverityNumber,
  trace,
  TraceFlags,
} from '@opentelemetry/api'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import type { Resource } from '@opentelemetry/resources'
import {
  BatchLogRecordProcessor,
  LoggerProvider,
  type LogRecordProcessor,
  type ReadableLogRecord,
  type ReadWriteLogRecord,
} from '@opentelemetry/sdk-logs'
import type { WriteDecision } from '../decision-log.js'
import type { TelemetrySettings } from '../settings/telemetry.js'
import { CountedExporter, type CountItems } from './counted-exporter.js'

/** A running exporter of lines. */
export interface OpenLogWriter {
  readonly write: WriteDecision
  /** Sends the waiting records. Rejects if the collector does not accept them. */
  close(): Promise<void>
}

/** Starts to export lines. */
export function createLogWriter(
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
    ...{ body, eventName: `gatehouse.${body.replaceAll(' ', '_')}` },
    ...{ severityNumber: SeverityNumber.INFO, severityText: 'INFO' },
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
