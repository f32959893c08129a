// Outputs of a process: the lines of its decision log, to stderr or a file, and its telemetry, to a collector.

import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { createDecisionLog, type DecisionLog, type WriteDecision } from '../../kit/decision-log.js'
import { errorText } from '../../kit/errors.js'
import { createLogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import { ownFile } from '../../kit/own-files.js'
import type { Tracer } from '../../kit/tracing.js'
import type { MetricsJson } from '../admin/merged-metrics.js'
import type { Metrics } from '../admin/metrics.js'
import { RecentDecisions } from '../admin/recent-decisions.js'
import type { Settings } from '../settings/settings.js'
import { readTelemetry } from '../settings/telemetry.js'
import type { Telemetry } from '../telemetry/start-telemetry.js'
import { type LineFile, openLineFile } from './line-file.js'
import { descriptorOf } from './line-target.js'

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
      logger,
      now,
      onLines: (result, lines) => metrics.exported('file', 'decisions', result, lines),
      ...(worker !== undefined && { fields: { worker } }),
    })
    this.decisions = createDecisionLog({
      now,
      choice: settings.decisionLog,
      claims: settings.logClaims ?? [],
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
    const { startTelemetry } = await import('../telemetry/start-telemetry.js')
    this.#telemetry = startTelemetry(settings.value, {
      version: await ownVersion(),
      worker,
      readMetrics,
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

// Writes the lines of the decision log to stderr, or to the file of --decision-log-file.

/** What a writer is created with. */
export interface DecisionWriterDeps {
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Counts lines that reached the file, or were dropped. */
  readonly onLines: (result: 'sent' | 'dropped', lines: number) => void
  /** Additional fields of every line. */
  readonly fields?: object
}

/** Writes the lines of the decision log. */
interface DecisionWriter {
  readonly write: WriteDecision
  /** Writes the waiting lines; gives up after a short time. */
  close(): Promise<void>
}

/** @throws {Error} for a person when the file cannot be opened. */
function createDecisionWriter(
  { decisionLogFile, workers }: Settings,
  deps: DecisionWriterDeps,
): DecisionWriter {
  if (decisionLogFile === undefined)
    return { write: logWriter(deps.logger), close: () => Promise.resolve() }
  if (workers > 1 && (descriptorOf(decisionLogFile) ?? 0) > 2)
    throw new Error(`--decision-log-file: ${decisionLogFile} is not open in workers; use a path`)
  const file = openFile(decisionLogFile, deps)
  return { write: fileWriter(file, deps), close: () => file.close() }
}

/**
 * The decision log itself hides secrets in its fields, by name and content. The logger's redaction would also hide
 * claims that the operator asked for.
 */
function logWriter(logger: Logger): WriteDecision {
  const lines = logger.plain ?? logger
  return (message, fields) => lines.info(fields, message)
}

const fileWriter =
  (file: LineFile, { now, fields: own }: DecisionWriterDeps): WriteDecision =>
  (msg, fields) => {
    const time = new Date(now()).toISOString()
    file.write(`${JSON.stringify({ level: 'info', time, ...own, ...fields, msg })}\n`)
  }

function openFile(path: string, { logger, now, onLines }: DecisionWriterDeps): LineFile {
  const limit = createLogLimit(now)
  try {
    return openLineFile({
      path,
      onLines,
      onFailure(problem) {
        const leftOut = limit.take('failure')
        if (leftOut !== undefined) logger.warn({ path, problem, leftOut }, UNWRITTEN)
      },
    })
  } catch (error) {
    throw new Error(`--decision-log-file: ${errorText(error)}`, { cause: error })
  }
}

const UNWRITTEN =
  'the decision log cannot be written; its lines wait, and are dropped if too many do'
