// Limits warnings that recur with every attempt (a status that may not be written) to one line each in ten seconds.

import { createLogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'

/** now: milliseconds since the epoch. */
export function createRareWarnings(
  logger: Logger,
  now: () => number = Date.now,
): (message: string) => void {
  const limit = createLogLimit(now)
  return (message) => {
    const leftOut = limit.take(message)
    if (leftOut !== undefined) logger.warn({ leftOut }, message)
  }
}
