// Visits every node of an expression, with the names bound around it by exists(), map() and similar macros.

import type { ASTNode } from '@marcbachmann/cel-js'

/** Names bound by macros. */
export type Scope = ReadonlySet<string>

const MACROS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])
/** Whether a call iterates over a list or map, or binds a value. */
export const isLoop = (node: ASTNode): boolean =>
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
