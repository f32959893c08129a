// Finds what an expression can read, without running it: which variables, members and headers.

import type { ASTNode } from '@marcbachmann/cel-js'
import { MCP_PARTS, type Root, ROOT_MEMBERS } from './attributes.js'
import { ExpressionError } from './expression-error.js'
import { type Scope, walk } from './walk.js'

/** What an expression can read. */
export interface Reads {
  /** First members by variable; "*": the whole variable. */
  readonly roots: ReadonlyMap<Root, ReadonlySet<string>>
  /** Lower-case names; all: a name is computed, or the headers are read as a whole. */
  readonly requestHeaders: ReadonlySet<string> | 'all'
}

const isRoot = (name: string): name is Root => Object.hasOwn(ROOT_MEMBERS, name)

/** @throws ExpressionError for a member that request, source or mcp does not have. */
export function findReads(ast: ASTNode): Reads {
  const roots = new Map<Root, Set<string>>()
  const headers = new Set<string>()
  let allHeaders = false
  walk(ast, (node, scope) => {
    const header = headerRead(node, scope)
    if (header !== undefined) headers.add(header)
    const read =
      header === undefined
        ? (partRead(node, scope) ?? rootRead(node, scope))
        : { root: 'request' as const, member: 'headers' }
    if (read === undefined) return false
    assertMember(read, node)
    if (
      read.root === 'request' &&
      header === undefined &&
      (read.member === 'headers' || read.member === '*')
    )
      allHeaders = true
    roots.set(read.root, (roots.get(read.root) ?? new Set()).add(read.member))
    return node.op === 'id' || memberName(node) !== undefined || header !== undefined
  })
  return { roots, requestHeaders: allHeaders ? 'all' : headers }
}

interface Read {
  readonly root: Root
  readonly member: string
}

/** jwt.sub, jwt["sub"], jwt.?sub → jwt.{sub}; jwt[x], jwt → jwt.{*}. */
function rootRead(node: ASTNode, scope: Scope): Read | undefined {
  const base = accessBase(node) ?? node
  if (base.op !== 'id' || scope.has(base.args) || !isRoot(base.args)) return undefined
  return { root: base.args, member: memberName(node) ?? '*' }
}

/** mcp.tool.name → mcp.{tool.name}; mcp.tool → mcp.{tool}, which includes its members. */
function partRead(node: ASTNode, scope: Scope): Read | undefined {
  const base = accessBase(node)
  const part = base && rootRead(base, scope)
  const name = memberName(node)
  if (part?.root !== 'mcp' || !MCP_PARTS.has(part.member) || name === undefined) return undefined
  return { root: 'mcp', member: `${part.member}.${name}` }
}

const accessBase = (node: ASTNode): ASTNode | undefined =>
  node.op === '.' || node.op === '.?' || node.op === '[]' || node.op === '[?]'
    ? node.args[0]
    : undefined

/** Returns the member that an access names; undefined: it is computed, or the node is not an access. */
function memberName(node: ASTNode): string | undefined {
  if (node.op === '.' || node.op === '.?') return node.args[1]
  if (node.op === '[]' || node.op === '[?]') return literalText(node.args[1])
  return undefined
}

const literalText = (node: ASTNode): string | undefined =>
  node.op === 'value' && typeof node.args === 'string' ? node.args : undefined

/** request.headers["x-team"], request.headers.host, "x-team" in request.headers → the header's name. */
function headerRead(node: ASTNode, scope: Scope): string | undefined {
  const [base, name] =
    node.op === 'in'
      ? [node.args[1], literalText(node.args[0])]
      : [accessBase(node), memberName(node)]
  if (base === undefined || name === undefined || memberName(base) !== 'headers') return undefined
  if (rootRead(base, scope)?.root !== 'request') return undefined
  if (name !== name.toLowerCase())
    throw new ExpressionError(
      `header names are lower-case here: expected "${name.toLowerCase()}"`,
      node.start,
      node.end,
    )
  return name
}

function assertMember({ root, member }: Read, node: ASTNode): void {
  const members = ROOT_MEMBERS[root]
  if (members === undefined || member === '*' || members.has(member)) return
  throw new ExpressionError(
    `${root} has no ${member}; expected one of ${[...members].join(', ')}`,
    node.start,
    node.end,
  )
}
