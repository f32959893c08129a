// Finds, without running an expression, which of its operators may get an argument of an MCP tool as an operand, also
// through loops, cel.bind() and functions.

import type { ASTNode } from '@marcbachmann/cel-js'
import { isLoop, type Method, subexpressions } from './walk.js'

/** Names that macros bind, each with whether its value may hold an argument. */
type Names = ReadonlyMap<string, boolean>

/** Operators that compare their operands, and those that look for the second one in the first. */
const COMPARING = new Set(['==', '!=', 'in', '[]', '[?]'])

/** Operators and macros whose value is a bool, whatever they are about. */
const BOOL_OPERATORS = new Set(['==', '!=', 'in', '<', '<=', '>', '>=', '&&', '||', '!_'])
const BOOL_MACROS = new Set(['exists', 'all', 'exists_one'])

/** Returns the operators of an expression that may get an argument. */
export function findArgumentReads(ast: ASTNode): ReadonlySet<ASTNode> {
  const found = new Set<ASTNode>()
  mayHoldArgument(ast, new Map(), found)
  return found
}

/** Whether the value of a node may be an argument or hold one. Notes the operators in it that get one. */
function mayHoldArgument(node: ASTNode, names: Names, found: Set<ASTNode>): boolean {
  const holds = (part: ASTNode): boolean => mayHoldArgument(part, names, found)
  const anyHolds = (parts: readonly ASTNode[]): boolean => parts.map(holds).includes(true)
  if (isLoop(node)) return loopHolds(node.args, names, found)
  switch (node.op) {
    case 'id':
      return names.get(node.args) ?? node.args === 'mcp'
    case '.':
    case '.?':
      return memberHolds(node.args[0], node.args[1], names, holds(node.args[0]))
    case '[]':
    case '[?]': {
      const [base, index] = node.args
      const [isIn, isAt] = [holds(base), holds(index)]
      if (isAt) found.add(node)
      return index.op === 'value' && typeof index.args === 'string'
        ? memberHolds(base, index.args, names, isIn)
        : isIn
    }
    case '?:': {
      const [condition, ...branches] = node.args
      holds(condition)
      return anyHolds(branches)
    }
    default: {
      const isAny = anyHolds(subexpressions(node))
      if (isAny && COMPARING.has(node.op)) found.add(node)
      return isAny && !BOOL_OPERATORS.has(node.op)
    }
  }
}

/** Whether a member may hold an argument: of mcp and mcp.tool, only what leads to mcp.tool.arguments does. */
function memberHolds(base: ASTNode, name: string, names: Names, isIn: boolean): boolean {
  const path = pathOf(base, names)
  if (path === 'mcp') return name === 'tool'
  return path === 'mcp.tool' ? name === 'arguments' : isIn
}

/** Returns "mcp" or "mcp.tool" for a node that is one of them. */
function pathOf(node: ASTNode, names: Names): string | undefined {
  if (node.op === 'id') return node.args === 'mcp' && !names.has('mcp') ? 'mcp' : undefined
  const isAccess = node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]'
  if (!isAccess || pathOf(node.args[0], names) !== 'mcp') return undefined
  const name = typeof node.args[1] === 'string' ? node.args[1] : node.args[1].args
  return name === 'tool' ? 'mcp.tool' : undefined
}

function loopHolds(
  [macro, receiver, args]: Method['args'],
  names: Names,
  found: Set<ASTNode>,
): boolean {
  const [variable, ...rest] = args
  if (variable?.op !== 'id')
    return [receiver, ...args].some((part) => mayHoldArgument(part, names, found))
  // cel.bind(name, value, body)
  const values = macro === 'bind' ? rest.slice(0, 1) : [receiver]
  const bodies = macro === 'bind' ? rest.slice(1) : rest
  const isValue = values.map((part) => mayHoldArgument(part, names, found)).includes(true)
  const inner = new Map(names).set(variable.args, isValue)
  const isBody = bodies.map((part) => mayHoldArgument(part, inner, found)).includes(true)
  if (macro === 'bind') return isBody
  return !BOOL_MACROS.has(macro) && (isValue || isBody)
}
