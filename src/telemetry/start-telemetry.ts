// Starts the exports by OTLP. This module is loaded only if something is exported, as it costs time and memory.

import type { WriteDecision } from '../decision-log.js'
import type { TelemetrySettings } from '../settings/telemetry.js'
import type { Tracer } from '../tracing.js'
import type { CountItems } from './counted-exporter.js'
import { createLogWriter } from './create-log-writer.js'
import { createTracer } from './create-tracer.js'
import { exportMetrics, type ReadMetrics } from './export-metrics.js'
import { createResource } from './resource.js'

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
