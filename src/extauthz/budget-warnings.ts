// Warnings of rules and values that exceed their budget.

import type { CompiledEntry } from './authz-table.js'
import type { CheckContext } from './check-context.js'

/** Logs that the rules of a route exceeded their budget. rule: the one that spent it. */
export function warnOfBudget(context: CheckContext, { entry }: CompiledEntry, rule: string): void {
  const message = context.isAudit ? BUDGET_OF_AUDITED_RULES : BUDGET_OF_RULES
  warnOnce(context, { route: entry.route, rule }, message)
}

/** Logs that the values for Envoy of a route exceeded their budget. */
export function warnOfValues(context: CheckContext, { entry }: CompiledEntry): void {
  warnOnce(context, { route: entry.route }, BUDGET_OF_VALUES)
}

const BUDGET_OF_RULES = 'the rules of a route exceeded their budget; the request was denied'
const BUDGET_OF_AUDITED_RULES =
  'the rules of a route in mode Audit exceeded their budget; the request counts as denied'
const BUDGET_OF_VALUES =
  'the header values and limit keys of a route exceeded their budget; the remaining ones have no value'

/** Logs a warning, limited per message and fields. */
function warnOnce(
  { options, limit }: CheckContext,
  fields: Readonly<Record<string, string>>,
  message: string,
): void {
  try {
    const leftOut = limit.take(`${message} ${Object.values(fields).join(' ')}`)
    if (leftOut === undefined) return
    options.logger.warn({ ...fields, leftOut }, message)
  } catch {
    // Bookkeeping changes no decision.
  }
}
