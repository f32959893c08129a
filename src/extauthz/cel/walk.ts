// Visits every node of an expression, with the names bound around it by exists(), map() and similar macros.

import type { ASTNode } from '@marcbachmann/cel-js'

/** Names bound by macros. */
export type Scope = ReadonlySet<string>

/** A call of a method. */
export type Method = Extract<ASTNode, { readonly op: 'rcall' }>

const MACROS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Whether a call iterates over a list or map, or binds a value. */
export const isLoop = (node: ASTNode): node is Method =>
  node.op === 'rcall' && (MACROS.has(node.args[0]) || node.args[0] === 'bind')

const NO_NAMES: Scope = new Set()

/** visit returns true if it handled the node's children itself. */
export function walk(
  node: ASTNode,
  visit: (node: ASTNode, scope: Scope) => boolean | void,
  scope: Scope = NO_NAMES,
): void {
  if (visit(node, scope) === true) return
  for (const child of children(node)) walk(child.node, visit, bind(scope, child.binds))
}

/** Returns the parts of a node that are evaluated. */
export const subexpressions = (node: ASTNode): readonly ASTNode[] =>
  children(node).map((child) => child.node)

interface Child {
  readonly node: ASTNode
  readonly binds?: string | undefined
}

const bind = (scope: Scope, name: string | undefined): Scope =>
  name === undefined ? scope : new Set([...scope, name])

const plain = (nodes: readonly ASTNode[]): readonly Child[] => nodes.map((node) => ({ node }))

function children(node: ASTNode): readonly Child[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return []
    case '.':
    case '.?':
      return [{ node: node.args[0] }]
    case 'call':
      return plain(node.args[1])
    case 'rcall':
      return methodChildren(node.args[0], node.args[1], node.args[2])
    case 'map':
      return plain(node.args.flat())
    case '!_':
    case '-_':
      return [{ node: node.args }]
    default:
      return plain(node.args)
  }
}

function methodChildren(
  name: string,
  receiver: ASTNode,
  args: readonly ASTNode[],
): readonly Child[] {
  const [variable, ...rest] = args
  if (variable?.op !== 'id') return plain([receiver, ...args])
  if (MACROS.has(name) && rest.length > 0)
    return [{ node: receiver }, ...rest.map((node) => ({ node, binds: variable.args }))]
  if (name === 'bind' && receiver.op === 'id' && receiver.args === 'cel' && rest[0] && rest[1])
    return [{ node: rest[0] }, { node: rest[1], binds: variable.args }]
  return plain([receiver, ...args])
}

/** Returns the pattern of a call of matches(), if it is written out. */
export function writtenPattern(node: ASTNode): (ASTNode & { readonly args: string }) | undefined {
  if ((node.op !== 'rcall' && node.op !== 'call') || node.args[0] !== 'matches') return undefined
  const pattern = node.op === 'rcall' ? node.args[2][0] : node.args[1][1]
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return undefined
  return pattern as typeof pattern & { readonly args: string }
}
