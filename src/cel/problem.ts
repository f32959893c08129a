// Why an expression cannot be used: what the library, or one of our own checks, says of it → a message for its author.

import { ParseError, TypeError as CelTypeError } from '@marcbachmann/cel-js'
import { ExpressionError } from './expression-error.js'
import { restoreNames } from './renames.js'

export interface CelProblem {
  /** Complete: line and column, what is wrong, what was expected where that can be said. */
  readonly message: string
  /** Offsets in the expression, where the fault has a place. */
  readonly start: number
  readonly end: number
}

export function celProblem(
  source: string,
  message: string,
  start = 0,
  end = source.length,
): CelProblem {
  const before = source.slice(0, start).split('\n')
  const column = (before.at(-1) ?? '').length + 1
  return { message: `line ${before.length}, column ${column}: ${message}`, start, end }
}

/** error: whatever parsing or checking threw or returned. */
export function problemOf(source: string, error: unknown): CelProblem {
  if (error instanceof ExpressionError)
    return celProblem(source, error.message, error.start, error.end)
  if (error instanceof ParseError || error instanceof CelTypeError) {
    const range = error.range ?? { start: 0, end: source.length }
    return celProblem(
      source,
      sentence(error.code, restoreNames(error.summary)),
      range.start,
      range.end,
    )
  }
  if (error instanceof RangeError)
    return celProblem(source, 'the expression is nested too deeply; at most 64 levels are allowed')
  return celProblem(source, 'the expression could not be read')
}

function sentence(code: string, summary: string): string {
  const lower = summary.charAt(0).toLowerCase() + summary.slice(1)
  if (code === 'unknown_variable')
    return `${lower}; expected jwt, request, source or a function's own variable`
  if (code === 'no_matching_overload')
    return `${lower.replace('found no matching overload for', 'there is no function')}; expected a function of CEL with arguments of its types`
  return lower
}
