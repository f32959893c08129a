// Compiles expressions whose value becomes text: headers of guardrail webhooks (decision 24), headers of
// transformations, and keys of rate limits.

import { err, ok, type Result } from '../../kit/result.js'
import type { Work } from '../../kit/turns.js'
import type { Attributes, Root } from './attributes.js'
import { Budget } from './budget.js'
import { compileExpression } from './compile.js'
import { type CelProblem, celProblem } from './problem.js'
import type { Reads } from './reads.js'
import { isPlainObject } from './values.js'

/** A compiled expression whose value becomes text. */
export interface ValueExpression {
  readonly source: string
  readonly reads: Reads
  /** Converts string, number, boolean and bytes to text; anything else is an error, given by its code. Never throws. */
  evaluate(attributes: Attributes, budget?: Budget): Result<string, string>
}

const TYPES = new Set(['string', 'bool', 'int', 'uint', 'double', 'bytes', 'dyn'])

/** Variables that an expression must not name, each with the reason. */
export type Denied = Readonly<Partial<Record<Root, string>>>

/** Variables that webhook headers cannot use. */
const WEBHOOK_VARIABLES: Denied = {
  mcp: 'mcp is available in authorization rules alone; expected jwt, request, source or llmRequest',
}

/** Variables that values for allowed requests cannot use. */
export const RULE_VARIABLES: Denied = {
  mcp: 'mcp is available in authorization rules alone; expected jwt, request or source',
  llmRequest: 'llmRequest is available in webhook headers alone; expected jwt, request or source',
}

/** Compiles an expression. denied: the variables that it may not read, each with the problem to report. */
export function* compileValue(
  source: string,
  denied = WEBHOOK_VARIABLES,
): Work<Result<ValueExpression, CelProblem>> {
  const compiled = yield* compileExpression(source, denied)
  if (!compiled.ok) return compiled
  const { reads, type } = compiled.value
  if (!TYPES.has(type))
    return err(
      celProblem(source, `the expression gives ${type}; expected string, number, bool or bytes`),
    )
  return ok({
    source,
    reads,
    evaluate: (attributes, budget = new Budget()) => textOf(compiled.value.run(attributes, budget)),
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function textOf(result: Result<unknown, string>): Result<string, string> {
  if (!result.ok) return result
  const value = result.value
  if (typeof value === 'string') return ok(value)
  if (typeof value === 'boolean' || typeof value === 'bigint') return ok(String(value))
  if (typeof value === 'number') return Number.isFinite(value) ? ok(String(value)) : err('not_text')
  if (value instanceof Uint8Array) return bytesText(value)
  return isUint(value) ? ok(String(value.valueOf())) : err('not_text')
}

/** The library represents unsigned integers as objects around a bigint. */
const isUint = (value: unknown): value is { valueOf(): bigint } =>
  typeof value === 'object' &&
  value !== null &&
  // A map may have a key "valueOf".
  !isPlainObject(value) &&
  typeof value.valueOf() === 'bigint'

function bytesText(bytes: Uint8Array): Result<string, string> {
  try {
    return ok(utf8.decode(bytes))
  } catch {
    return err('not_text')
  }
}
