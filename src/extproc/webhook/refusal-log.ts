// Logs what guards refuse, without any text of the prompt or reply. Rate-limited, because clients cause these lines.

import type { Phase } from '../../ir/proc-entry.js'
import type { LogLimit } from '../../log-limit.js'
import type { Logger } from '../../logger.js'

/** route: NAMESPACE/NAME of the HTTPRoute. */
export type LogRefusal = (
  route: string,
  phase: Phase,
  refused: LoggedRefusal,
  /** Set if nothing is refused. */
  mode?: 'audit',
) => void

export interface LoggedRefusal {
  readonly reply: { readonly status: number }
  /** Without any text of the prompt or reply. */
  readonly problem: string
}

export const createRefusalLog =
  (logger: Logger, limit: LogLimit): LogRefusal =>
  (route, phase, { reply: { status }, problem }, mode) => {
    const leftOut = limit.take(`${mode ?? ''} ${route} ${phase} ${problem}`)
    if (leftOut === undefined) return
    const what = phase === 'request' ? 'request refused' : 'reply refused'
    if (mode === undefined) logger.info({ route, status, problem, leftOut }, what)
    else logger.info({ mode, route, status, problem, leftOut }, `${what} by an audit, and passed`)
  }

/** Logs header expressions that exceeded their budget. Each is counted, but only some are logged. */
export const createBudgetLog =
  (logger: Logger, limit: LogLimit, count: (webhook: string) => void) =>
  (route: string, webhook: string): void => {
    count(webhook)
    const leftOut = limit.take(`budget ${route} ${webhook}`)
    if (leftOut === undefined) return
    logger.warn(
      { route, webhook, leftOut },
      'the header expressions of a webhook exceeded their budget; headers were left out',
    )
  }
