// Evaluates the loops of an expression that read nothing of the request. Their cost is known in advance, so the author
// of the policy learns if it is too high.

import type { ASTNode } from '@marcbachmann/cel-js'
import type { Work } from '../turns.js'
import { Budget, spending } from './budget.js'
import { ruleEnvironment } from './environment.js'
import { ExpressionError } from './expression-error.js'
import { meter } from './metering.js'
import { isLoop, walk } from './walk.js'

/** Names that mean the same in every request. */
const CONSTANTS: ReadonlySet<string> = new Set([
  ...['bool', 'bytes', 'double', 'int', 'list', 'map', 'null_type', 'string', 'type', 'uint'],
  ...['cel', 'base64', 'optional', 'google'],
])

/**
 * Yields after each loop. renamed: the source as it will run. @throws ExpressionError at the first loop that exceeds the
 * default budget.
 */
export function* assertClosedParts(renamed: string, ast: ASTNode): Work<void> {
  const total = new Budget()
  for (const loop of closedLoops(ast)) {
    if (total.isSpent) return
    const isOver = spends(renamed, loop, total)
    yield
    if (isOver && spends(renamed, loop, new Budget()))
      throw new ExpressionError(
        'this takes more steps or bytes than an evaluation may, whatever the request is',
        loop.start,
        loop.end,
      )
  }
}

/** Returns the outermost loops that read nothing of the request. */
function closedLoops(ast: ASTNode): readonly ASTNode[] {
  const loops: ASTNode[] = []
  walk(ast, (node, scope) => {
    if (!isLoop(node) || !isClosed(node, scope)) return false
    loops.push(node)
    return true
  })
  return loops
}

/** Whether an expression names nothing but constants and its own variables. */
function isClosed(root: ASTNode, outer: ReadonlySet<string>): boolean {
  let closed = true
  walk(root, (node, scope) => {
    if (node.op === 'id' && !CONSTANTS.has(node.args)) {
      // A name bound both inside and outside counts as the outer one, although the inner binding may hide it.
      if (!scope.has(node.args) || outer.has(node.args)) closed = false
    }
    return !closed
  })
  return closed
}

function spends(renamed: string, { start, end }: ASTNode, budget: Budget): boolean {
  try {
    const evaluate = ruleEnvironment.parse(renamed.slice(start, end))
    if (!evaluate.check().valid) return false
    meter(evaluate.ast)
    spending(budget, () => evaluate({}) as unknown)
  } catch {
    // Other errors are reported by other checks.
  }
  return budget.isSpent
}
