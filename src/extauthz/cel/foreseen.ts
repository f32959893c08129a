// Foresees what a rule gives for an MCP message whatever its caller, and finds values that stand where a condition belongs.

import type { ASTNode } from '@marcbachmann/cel-js'
import { atOnce } from '../../kit/turns.js'
import type { McpAttributes } from './attributes.js'
import { ruleEnvironment } from './environment.js'
import { findReads } from './reads.js'
import { compileRule } from './rule.js'
import { walk } from './walk.js'

/** What a rule gives: error: it cannot be evaluated; unknown: that depends on the caller or the request. */
export type Foreseen = 'true' | 'false' | 'error' | 'unknown'

/** source: a rule that compiles. */
export function foresee(source: string, mcp: McpAttributes): Foreseen {
  const { ast } = ruleEnvironment.parse(source)
  if (!readsMore(ast)) return evaluate(source, mcp)
  return foreseeNode(ast, (part) =>
    readsMore(part) ? 'unknown' : evaluate(source.slice(part.start, part.end), mcp),
  )
}

/** Whether the part reads more than the message. */
const readsMore = (part: ASTNode): boolean =>
  [...findReads(part).roots.keys()].some((root) => root !== 'mcp')

/** Follows CEL: && and || ignore what the other side makes of no account, an error too. */
function foreseeNode(node: ASTNode, ofPart: (part: ASTNode) => Foreseen): Foreseen {
  switch (node.op) {
    case '&&':
      return firstOf(['false', 'unknown', 'error', 'true'], sidesOf(node, ofPart))
    case '||':
      return firstOf(['true', 'unknown', 'error', 'false'], sidesOf(node, ofPart))
    case '!_':
      return opposite(foreseeNode(node.args, ofPart))
    default:
      return ofPart(node)
  }
}

const sidesOf = (
  { args }: { readonly args: readonly [ASTNode, ASTNode] },
  ofPart: (part: ASTNode) => Foreseen,
): readonly Foreseen[] => args.map((side) => foreseeNode(side, ofPart))

const firstOf = (order: readonly Foreseen[], found: readonly Foreseen[]): Foreseen =>
  order.find((one) => found.includes(one)) ?? 'unknown'

const OPPOSITES = { true: 'false', false: 'true', error: 'error', unknown: 'unknown' } as const

const opposite = (value: Foreseen): Foreseen => OPPOSITES[value]

function evaluate(text: string, mcp: McpAttributes): Foreseen {
  const rule = atOnce(compileRule(text))
  // Without its brackets, a part may be no expression.
  if (!rule.ok) return 'unknown'
  const result = rule.value.evaluate({ mcp })
  return result.ok ? (result.value ? 'true' : 'false') : 'error'
}

/** Claims of OpenID Connect that are true or false (Core, section 5.1). */
const BOOLEAN_CLAIMS: ReadonlySet<string> = new Set(['email_verified', 'phone_number_verified'])

/**
 * Returns the members that a rule uses as conditions without comparing them, as written: jwt.groups. A rule that asks
 * whether it has a member knows what that is.
 */
export function bareConditions(source: string): readonly string[] {
  const bare: string[] = []
  const { ast } = ruleEnvironment.parse(source)
  const textOf = ({ start, end }: ASTNode): string => source.slice(start, end)
  const known = new Set<string>()
  walk(ast, (node) => {
    if (node.op === 'call' && node.args[0] === 'has')
      for (const one of node.args[1]) known.add(textOf(one))
  })
  const look = (node: ASTNode): void => {
    if (node.op === '&&' || node.op === '||') node.args.forEach(look)
    else if (node.op === '!_') look(node.args)
    else if (node.op === '?:') look(node.args[0])
    else if (isMember(node) && !isBoolean(node) && !known.has(textOf(node))) bare.push(textOf(node))
  }
  look(ast)
  return bare
}

const isMember = ({ op }: ASTNode): boolean => op === '.' || op === '[]' || op === 'id'

const isBoolean = (node: ASTNode): boolean => node.op === '.' && BOOLEAN_CLAIMS.has(node.args[1])
