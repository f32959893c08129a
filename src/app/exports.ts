// What a process hands on: the lines of its decision log.

import type { Metrics } from '../admin/metrics.js'
import type { WriteDecision } from '../decision-log.js'
import type { Logger } from '../logger.js'
import type { Settings } from '../settings.js'
import { createDecisionWriter, type DecisionWriter } from './decision-writers.js'

export interface ExportsDeps {
  readonly logger: Logger
  readonly metrics: Pick<Metrics, 'exported'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Number of this worker; absent: the main process. */
  readonly worker?: number
}

export class Exports {
  readonly writeDecision: WriteDecision
  readonly #decisions: DecisionWriter

  /** @throws {Error} for a person when the file of --decision-log-file cannot be opened. */
  constructor(settings: Settings, { logger, metrics, now, worker }: ExportsDeps) {
    this.#decisions = createDecisionWriter(settings, {
      ...{ logger, now },
      onLines: (result, lines) => metrics.exported('file', 'decisions', result, lines),
      ...(worker !== undefined && { fields: { worker } }),
    })
    this.writeDecision = this.#decisions.write
  }

  /** Hands on what is waiting, for a moment at most. */
  async close(): Promise<void> {
    await this.#decisions.close()
  }
}
