// Compiles an expression: parses it, finds what it reads, renames calls, parses it again, checks the types. A tenant's
// expression of the maximum length takes tens of milliseconds, so other work gets its turn between the steps.

import { type ASTNode, EvaluationError } from '@marcbachmann/cel-js'
import { err, ok, type Result } from '../result.js'
import type { Work } from '../turns.js'
import { type Attributes, attributeValue, type Root, ROOTS } from './attributes.js'
import { type Budget, BUDGET_EXCEEDED, charge, spending } from './budget.js'
import { classSteps } from './class-steps.js'
import { assertClosedParts } from './closed-parts.js'
import { MAX_EXPRESSION_LENGTH, ruleEnvironment, syntaxEnvironment } from './environment.js'
import { ExpressionError } from './expression-error.js'
import { assertLiteralDepth } from './literal-depth.js'
import { meter } from './metering.js'
import { isKey } from './operator-costs.js'
import { estimatedSize } from './pattern-size.js'
import { holdPattern, MAX_CLASS_STEPS, MAX_PATTERN_SIZE, MAX_PATTERNS_SIZE } from './patterns.js'
import { type CelProblem, celProblem, problemOf } from './problem.js'
import { findReads, type Reads } from './reads.js'
import { renameCalls, type WrittenPattern, writtenPattern } from './renames.js'
import { CelLimitError } from './values.js'
import { walk } from './walk.js'

/** A compiled expression. */
export interface Expression {
  readonly reads: Reads
  /** Its written-out patterns, which stay compiled as long as it lives. */
  readonly patterns: readonly object[]
  /** The library's name of the static type; "dyn" if it is known only at run time. */
  readonly type: string
  /** The error is a code; messages are dropped, as they can contain values of the request. */
  run(attributes: Attributes, budget: Budget): Result<unknown, string>
}

/** denied: variables that the expression must not name, each with the reason. */
export function* compileExpression(
  source: string,
  denied: Readonly<Partial<Record<Root, string>>> = {},
): Work<Result<Expression, CelProblem>> {
  if (source.length > MAX_EXPRESSION_LENGTH)
    return err(
      celProblem(
        source,
        `the expression has ${source.length} characters; at most ${MAX_EXPRESSION_LENGTH} are allowed`,
        MAX_EXPRESSION_LENGTH,
      ),
    )
  try {
    return ok(yield* compileChecked(source, denied))
  } catch (error) {
    const roots = ROOTS.filter((root) => denied[root] === undefined)
    return err(problemOf(source, error, roots))
  }
}

function* compileChecked(
  source: string,
  denied: Readonly<Partial<Record<Root, string>>>,
): Work<Expression> {
  const ast = syntaxEnvironment.parse(source).ast
  yield
  const patterns = yield* holdPatterns(ast)
  assertMapKeys(ast)
  assertLiteralDepth(ast)
  const reads = findReads(ast)
  for (const root of reads.roots.keys()) {
    const reason = denied[root]
    if (reason !== undefined) throw new ExpressionError(reason, 0, source.length)
  }
  yield
  const renamed = renameCalls(source, ast)
  const evaluate = ruleEnvironment.parse(renamed)
  yield
  const { type, error } = evaluate.check()
  if (error !== undefined || type === undefined) throw error ?? new Error('no type')
  yield
  meter(evaluate.ast)
  yield
  yield* assertClosedParts(renamed, ast)
  return { reads, patterns, type, run: runner(evaluate, [...reads.roots]) }
}

/**
 * Compiles written-out patterns now: a bad one is reported to its author, and no request waits for it. Different ones
 * are limited together.
 */
function* holdPatterns(ast: ASTNode): Work<readonly object[]> {
  const held: object[] = []
  let [size, steps] = [0, 0]
  for (const pattern of writtenPatterns(ast)) {
    size += estimatedSize(pattern.text)
    steps += classSteps(pattern.text)
    if (held.length > 0 && (size > MAX_PATTERNS_SIZE || steps > MAX_CLASS_STEPS))
      throw new ExpressionError(
        `the patterns are too large together; at most ${MAX_PATTERNS_SIZE} instructions are allowed in an expression, and a class of Unicode counts as hundreds`,
        pattern.start,
        pattern.end,
      )
    held.push(heldPattern(pattern))
    yield
  }
  return held
}

/** Returns the patterns with different texts. */
function writtenPatterns(ast: ASTNode): Iterable<WrittenPattern> {
  const patterns = new Map<string, WrittenPattern>()
  walk(ast, (node) => {
    const pattern = writtenPattern(node)
    if (pattern !== undefined && !patterns.has(pattern.text)) patterns.set(pattern.text, pattern)
  })
  return patterns.values()
}

function heldPattern({ text, start, end }: WrittenPattern): object {
  try {
    return holdPattern(text)
  } catch (error) {
    const problem =
      error instanceof CelLimitError
        ? `the pattern is too large; at most ${MAX_PATTERN_SIZE} instructions are allowed, and a repetition counts as often as it repeats`
        : 'not a regular expression of RE2 syntax'
    throw new ExpressionError(problem, start, end)
  }
}

/** Keys that the library silently drops from a map. */
const DROPPED_KEYS: readonly unknown[] = ['__proto__', 'constructor', 'prototype']

function assertMapKeys(ast: ASTNode): void {
  walk(ast, (node) => {
    if (node.op !== 'map') return
    for (const [key] of node.args)
      if (key.op === 'value' && (DROPPED_KEYS.includes(key.args) || !isKey(key.args)))
        throw new ExpressionError(
          typeof key.args === 'string'
            ? `a map cannot have the key ${key.args}`
            : 'a map cannot have a key of this type; expected a bool, a number or a string',
          key.start,
          key.end,
        )
  })
}

/** Steps to start an evaluation; a route may have a thousand rules. */
const RUN_STEPS = 10

/** Reuses one set of bindings and clears it after each run, so an idle rule keeps no values of the last request. */
function runner(
  evaluate: (bindings: Record<string, unknown>) => unknown,
  roots: readonly (readonly [Root, ReadonlySet<string>])[],
): Expression['run'] {
  const bindings = Object.create(null) as Record<string, unknown>
  return (attributes, budget) => {
    try {
      const value = spending(budget, () => {
        charge(RUN_STEPS)
        for (const [root, members] of roots)
          bindings[root] = attributeValue(attributes, root, members)
        return evaluate(bindings)
      })
      // A loop that was stopped has no valid result.
      return budget.isSpent ? err(BUDGET_EXCEEDED) : ok(value)
    } catch (error) {
      return err(budget.isSpent ? BUDGET_EXCEEDED : errorCode(error))
    } finally {
      for (const [root] of roots) bindings[root] = null
    }
  }
}

function errorCode(error: unknown): string {
  if (error instanceof EvaluationError || error instanceof CelLimitError) return error.code
  return error instanceof RangeError ? 'limit_exceeded' : 'evaluation_error'
}
