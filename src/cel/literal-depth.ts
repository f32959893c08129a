// Limits how deeply lists and maps of an expression lie within each other. The library makes a type for each way in which
// they do, and keeps it for as long as the process lives: policies come and go, and their types would fill the memory.

import type { ASTNode } from '@marcbachmann/cel-js'
import { ExpressionError } from './expression-error.js'

/** Levels of lists, maps and optionals: about 30,000 types can be made of them. */
const MAX_DEPTH = 4

type Depths = ReadonlyMap<string, number>

/** @throws ExpressionError for a list or map that is nested too deeply. */
export function assertLiteralDepth(ast: ASTNode): void {
  depthOf(ast, new Map())
}

/** Returns the most levels that the type of a node can have. variables: those of the variables around it. */
function depthOf(node: ASTNode, variables: Depths): number {
  switch (node.op) {
    case 'value':
      return 0
    case 'id':
      return variables.get(node.args) ?? 0
    case 'list':
      return within(node, deepest(node.args, variables) + 1)
    case 'map':
      return within(node, deepest(node.args.flat(), variables) + levelsOf(node.args))
    case '.':
      return depthOf(node.args[0], variables)
    case '.?':
      return Math.max(1, depthOf(node.args[0], variables))
    case '!_':
    case '-_':
      return depthOf(node.args, variables)
    case 'call':
      deepest(node.args[1], variables)
      return 0
    case 'rcall':
      return within(node, methodDepth(node.args, variables))
    default:
      return deepest(node.args, variables)
  }
}

function within(node: ASTNode, depth: number): number {
  if (depth <= MAX_DEPTH) return depth
  throw new ExpressionError(
    `lists and maps are nested too deeply; at most ${MAX_DEPTH} levels are allowed, and a map whose keys are computed counts as two`,
    node.start,
    node.end,
  )
}

const deepest = (nodes: readonly ASTNode[], variables: Depths): number =>
  nodes.reduce((depth, node) => Math.max(depth, depthOf(node, variables)), 0)

/** Keys that are written out have few types; all others could have any. */
const levelsOf = (entries: readonly (readonly [ASTNode, ASTNode])[]): number =>
  entries.every(([key]) => key.op === 'value') ? 1 : 2

function methodDepth(
  [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
  variables: Depths,
): number {
  const [variable, ...rest] = args
  const [first, last] = [rest[0], rest.at(-1)]
  if (name === 'bind' && variable?.op === 'id' && first !== undefined && last !== undefined) {
    const bound = new Map(variables).set(variable.args, depthOf(first, variables))
    return depthOf(last, bound)
  }
  const from = depthOf(receiver, variables)
  if (variable?.op !== 'id' || rest.length === 0)
    return resultDepth(name, Math.max(from, deepest(args, variables)))
  const inner = deepest(rest, new Map(variables).set(variable.args, from))
  return name === 'map' ? inner + 1 : name === 'filter' ? from : 0
}

/** depth: the deepest of the receiver and the arguments. */
function resultDepth(name: string, depth: number): number {
  switch (name) {
    case 'of':
      return depth + 1
    case 'or':
    case 'orValue':
    case 'value':
      return depth
    default:
      return 1
  }
}
