// Makes a checked expression count its work: every node of the syntax tree charges the budget before it runs, and
// operators and functions charge for their operands. The library still does the evaluation.

import type { ASTNode } from '@marcbachmann/cel-js'
import { assertArgumentKey, equalArguments, hasArgument } from './argument-equality.js'
import type { GetsArgument } from './argument-reads.js'
import { charge, isBudgetSpent } from './budget.js'
import { chargeCall } from './costs/function-costs.js'
import { chargeBinary, chargeIndex, chargeKey } from './costs/operator-costs.js'
import { assertTypeDepth } from './costs/value-costs.js'

type Evaluate = (evaluator: unknown, self: unknown, context: unknown) => unknown
type Handle = (...operands: unknown[]) => unknown

interface Macro {
  evaluate: Evaluate
}

/** A node as the library's evaluator sees it: it calls evaluate(), which calls handle() with the operands' values. */
interface EvaluatedNode {
  readonly op: string
  readonly args: unknown
  readonly start: number
  readonly end: number
  readonly checkedType?: { readonly name: string }
  readonly meta: {
    readonly evaluate?: Evaluate
    /** The expansion of a macro, evaluated instead of the node. */
    readonly alternate?: EvaluatedNode
    readonly macro?: Macro
  }
  evaluate: Evaluate
  handle?: Handle
}

interface Comprehension {
  readonly iterable: EvaluatedNode
  readonly init: EvaluatedNode
  readonly step: EvaluatedNode
  readonly errorsAreFatal: boolean
  condition?: (accumulated: unknown) => boolean
}

/** ast: checked, never run. getsArgument: by default, no operator does. @throws for a kind of node whose cost is not known. */
export function meter(ast: ASTNode, getsArgument: GetsArgument = () => false): void {
  meterNode(ast as unknown as EvaluatedNode, { seen: new Set(), getsArgument, isAttempt: false })
}

interface Visit {
  readonly seen: Set<EvaluatedNode>
  readonly getsArgument: GetsArgument
  /** Whether an error of this node is caught and the expression continues, any number of times. */
  readonly isAttempt: boolean
}

function meterNode(node: EvaluatedNode, visit: Visit): void {
  const { meta } = node
  if (meta.alternate !== undefined) return meterNode(meta.alternate, visit)
  if (visit.seen.has(node)) return
  visit.seen.add(node)
  const [children, attempted] = childrenOf(node)
  for (const child of children) meterNode(child, { ...visit, isAttempt: false })
  for (const child of attempted) meterNode(child, { ...visit, isAttempt: true })
  meterOperands(node)
  if (isLeaf(node) && !visit.isAttempt && visit.seen.size > 1) return
  const cost = 1 + [...children, ...attempted].filter(isLeaf).length + ownCost(node)
  const run = runOf(node)
  node.evaluate = visit.isAttempt ? attempting(node, cost, run) : counting(cost, run)
  if (visit.getsArgument(node)) compareArguments(node)
  meterHandle(node)
}

/** Leaves are charged by their parents: they do nothing, and would cost more to count than to evaluate. */
const isLeaf = ({ op, meta }: EvaluatedNode): boolean =>
  meta.alternate === undefined && meta.macro === undefined && LEAVES.has(op)

const LEAVES = new Set(['value', 'id', 'accuValue', 'accuInc'])

/** Steps for errors that the library turns into an empty optional, and for the items of list and map literals. */
function ownCost({ op, args }: EvaluatedNode): number {
  if (op === '.?' || op === '[?]') return OPTIONAL_STEPS
  return op === 'list' || op === 'map' ? (args as readonly unknown[]).length : 0
}

const OPTIONAL_STEPS = 150

function runOf(node: EvaluatedNode): Evaluate {
  const { macro, evaluate } = node.meta
  if (macro !== undefined)
    return (evaluator, _self, context) => macro.evaluate(evaluator, macro, context)
  if (evaluate === undefined) throw new Error(`nothing evaluates ${node.op}`)
  return evaluate
}

const counting =
  (cost: number, run: Evaluate): Evaluate =>
  (evaluator, self, context) => {
    charge(cost)
    return run(evaluator, self, context)
  }

/** Steps for an error: its stack, and its message, which shows the expression up to the error's position. */
const ERROR_STEPS = 150
const errorSteps = (start: number): number => ERROR_STEPS + start / 16

const attempting =
  (node: EvaluatedNode, cost: number, run: Evaluate): Evaluate =>
  (evaluator, self, context) => {
    charge(cost)
    try {
      return run(evaluator, self, context)
    } catch (error) {
      charge(errorSteps(node.start))
      throw error
    }
  }

type Children = readonly [
  children: readonly EvaluatedNode[],
  /** Children whose errors are caught. */
  attempted: readonly EvaluatedNode[],
]

function childrenOf(node: EvaluatedNode): Children {
  const args = node.args as readonly EvaluatedNode[]
  switch (node.op) {
    case 'value':
    case 'id':
    case 'accuValue':
    case 'accuInc':
      return [[], []]
    case '.':
    case '.?':
      return [args.slice(0, 1), []]
    case '!_':
    case '-_':
    case 'accuPush':
      return [[node.args as EvaluatedNode], []]
    case '||':
    case '&&':
      return [args.slice(1), args.slice(0, 1)]
    case 'call':
    case 'rcall':
      return callChildren(node)
    case 'comprehension':
      return comprehensionChildren(node.args as Comprehension)
    case 'map':
      return [(node.args as readonly (readonly EvaluatedNode[])[]).flat(), []]
    default:
      if (!OPERATORS.has(node.op)) throw new Error(`a node of kind ${node.op}`)
      return [args, []]
  }
}

const OPERATORS = new Set([
  '[]',
  '[?]',
  '?:',
  'list',
  '==',
  '!=',
  'in',
  '+',
  '-',
  '*',
  '/',
  '%',
  '<',
  '<=',
  '>',
  '>=',
])

/** Returns the children of a call. In default(wanted, fallback), errors of wanted are caught. */
function callChildren({ op, args }: EvaluatedNode): Children {
  if (op === 'rcall') {
    const [, receiver, rest] = args as [string, EvaluatedNode, readonly EvaluatedNode[]]
    return [[receiver, ...rest], []]
  }
  const [name, rest] = args as [string, readonly EvaluatedNode[]]
  return name === 'default' ? [rest.slice(1), rest.slice(0, 1)] : [rest, []]
}

const comprehensionChildren = ({
  iterable,
  init,
  step,
  errorsAreFatal,
}: Comprehension): Children =>
  errorsAreFatal ? [[iterable, init, step], []] : [[iterable, init], [step]]

/** Meters operands that the library takes as they are, without a handle. */
function meterOperands({ op, args }: EvaluatedNode): void {
  if (op === 'map')
    for (const [key] of args as readonly (readonly [EvaluatedNode, EvaluatedNode])[])
      checkResult(key, chargeKey)
  else if (op === '||' || op === '&&')
    for (const operand of args as readonly EvaluatedNode[])
      if (operand.checkedType?.name !== 'bool') checkResult(operand, assertLogical)
}

/** The library names the type of an operand that is no bool, with all that is nested in it. */
function assertLogical(value: unknown): void {
  if (typeof value === 'object') assertTypeDepth(value)
}

function checkResult(node: EvaluatedNode, check: (value: unknown) => void): void {
  if (node.meta.alternate !== undefined) return checkResult(node.meta.alternate, check)
  const run = Object.hasOwn(node, 'evaluate') ? node.evaluate : runOf(node)
  node.evaluate = (evaluator, self, context) => {
    const value = run(evaluator, self, context)
    check(value)
    return value
  }
}

/** Makes an operator that gets an argument fail for a value of another type. */
function compareArguments(node: EvaluatedNode): void {
  const { op, handle } = node
  if (op === '==') node.handle = (left, right) => equalArguments(left, right)
  else if (op === '!=') node.handle = (left, right) => !equalArguments(left, right)
  else if (handle !== undefined)
    node.handle = (left, right, ...rest) => {
      if (op === 'in')
        return hasArgument(left, right, () => handle(left, right, ...rest) as boolean)
      assertArgumentKey(left, right)
      return handle(left, right, ...rest)
    }
}

function meterHandle(node: EvaluatedNode): void {
  const { handle, op } = node
  if (op === 'accuPush') {
    const push = node.evaluate
    node.evaluate = (evaluator, self, context) => {
      charge(0, BYTES_PER_ITEM)
      return push(evaluator, self, context)
    }
  } else if (op === 'comprehension') meterLoop(node, node.args as Comprehension)
  else if (handle === undefined) return
  else if (op === 'call' || op === 'rcall') meterCall(node, handle)
  else if (op === '[]' || op === '[?]')
    node.handle = (base, index, ...rest) => {
      chargeIndex(index)
      return handle(base, index, ...rest)
    }
  else if (op === '?:' || op === '!_' || op === '-_')
    node.handle = (operand, ...rest) => {
      if (typeof operand === 'object') assertTypeDepth(operand)
      return handle(operand, ...rest)
    }
  else if (op === '==' || op === '!=')
    node.handle = (left, right, ...rest) => {
      if (left === null || right === null) return (left === right) === (op === '==')
      chargeBinary(op, left, right)
      return handle(left, right, ...rest)
    }
  else if (op !== '.' && op !== '.?')
    node.handle = (left, right, ...rest) => {
      chargeBinary(op, left, right)
      return handle(left, right, ...rest)
    }
}

function meterCall(node: EvaluatedNode, handle: Handle): void {
  const [name] = node.args as [string]
  node.handle = (values, ...rest) => {
    chargeCall(name, values as readonly unknown[])
    return handle(values, ...rest)
  }
}

const BYTES_PER_ITEM = 16

/** Stops the loop when the budget is spent; the library continues a loop after any error in it. */
function meterLoop(node: EvaluatedNode, loop: Comprehension): void {
  const { condition } = loop
  loop.condition = (accumulated) =>
    !isBudgetSpent() && (condition === undefined || condition(accumulated))
  const { handle } = node
  if (handle === undefined) throw new Error('nothing runs a comprehension')
  node.handle = (items, ...rest) => {
    chargeKeys(items)
    return handle(items, ...rest)
  }
}

/** Charges for the list of keys by which the library iterates over a map. */
function chargeKeys(items: unknown): void {
  if (typeof items !== 'object' || items === null || Array.isArray(items)) return
  const size = items instanceof Map ? items.size : Object.keys(items).length
  charge(size / 4, size * BYTES_PER_ITEM)
}
