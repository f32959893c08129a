// Outputs of a process: the lines of its decision log, to stderr or a file, and its telemetry, to a collector.

import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { MetricsJson } from '../../admin/merged-metrics.js'
import type { Metrics } from '../../admin/metrics.js'
import { RecentDecisions } from '../../admin/recent-decisions.js'
import { createDecisionLog, type DecisionLog, type WriteDecision } from '../../decision-log.js'
import type { Logger } from '../../logger.js'
import { ownFile } from '../../own-files.js'
import type { Settings } from '../../settings.js'
import { readTelemetry } from '../../settings/telemetry.js'
import type { Telemetry } from '../../telemetry/start-telemetry.js'
import type { Tracer } from '../../tracing.js'
import { createDecisionWriter, type DecisionWriter } from './decision-writers.js'

/** What the outputs are created with. */
export interface ExportsDeps {
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'exported'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Number of this worker; absent: the main process. */
  readonly worker?: number
  /** Reads the metrics to export; absent: another process exports them. */
  readonly readMetrics?: () => Promise<MetricsJson>
}

/** Longest wait for a collector at the end of the process. */
const CLOSE_MS = 1_000

/** The outputs of a process. */
export class Exports {
  readonly #settings: Settings
  readonly #deps: ExportsDeps
  readonly #writer: DecisionWriter
  /** The latest lines, for the status page. */
  readonly recent: RecentDecisions
  readonly decisions: DecisionLog
  #telemetry: Telemetry | undefined

  /** @throws {Error} for a person when the file of --decision-log-file cannot be opened. */
  constructor(settings: Settings, deps: ExportsDeps) {
    const { logger, metrics, now, worker } = deps
    this.#settings = settings
    this.#deps = deps
    this.recent = new RecentDecisions({ now, ...(worker !== undefined && { worker }) })
    this.#writer = createDecisionWriter(settings, {
      ...{ logger, now },
      onLines: (result, lines) => metrics.exported('file', 'decisions', result, lines),
      ...(worker !== undefined && { fields: { worker } }),
    })
    this.decisions = createDecisionLog({
      ...{ now, choice: settings.decisionLog, claims: settings.logClaims ?? [] },
      write: (message, fields) => this.#write(message, fields),
    })
  }

  /** Starts the export of telemetry, if the settings ask for any. Must be called before the tracer is read. */
  async start(): Promise<void> {
    const { environment, otlp } = this.#settings
    const settings = readTelemetry(environment, otlp)
    if (!settings.ok || settings.value === undefined) return
    const { metrics, worker, readMetrics, logger } = this.#deps
    const { unsupported } = settings.value
    if (worker === undefined && unsupported.length > 0)
      logger.warn({ unsupported }, 'variables of OpenTelemetry that have no effect')
    const { startTelemetry } = await import('../../telemetry/start-telemetry.js')
    this.#telemetry = startTelemetry(settings.value, {
      ...{ version: await ownVersion(), worker, readMetrics },
      countOf: (signal) => (result, items) => metrics.exported('otlp', signal, result, items),
    })
  }

  /** Absent: nothing is traced. */
  get tracer(): Tracer | undefined {
    return this.#telemetry?.tracer
  }

  readonly #write: WriteDecision = (message, fields) => {
    this.recent.add(message, fields)
    this.#writer.write(message, fields)
    this.#telemetry?.write?.(message, fields)
  }

  /** Sends and writes whatever waits; gives up after a short time. */
  async close(): Promise<void> {
    this.decisions.flush()
    const sent = this.#telemetry?.close()
    await Promise.all([
      this.#writer.close(),
      sent && Promise.race([sent, delay(CLOSE_MS, undefined, { ref: false })]),
    ])
  }
}

async function ownVersion(): Promise<string> {
  const text = await readFile(ownFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
