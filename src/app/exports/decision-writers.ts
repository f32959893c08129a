// Writes the lines of the decision log to stderr, or to the file of --decision-log-file.

import type { WriteDecision } from '../../decision-log.js'
import { errorText } from '../../errors.js'
import { createLogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'
import type { Settings } from '../../settings.js'
import { type LineFile, openLineFile } from './line-file.js'
import { descriptorOf } from './line-target.js'

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
export interface DecisionWriter {
  readonly write: WriteDecision
  /** Writes the waiting lines; gives up after a short time. */
  close(): Promise<void>
}

/** @throws {Error} for a person when the file cannot be opened. */
export function createDecisionWriter(
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
