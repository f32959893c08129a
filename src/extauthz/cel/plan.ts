// Plans how a checked expression is evaluated: each node of its syntax tree becomes a function that charges the budget
// before it runs. The structure (&&, ?:, members, loops) is evaluated here; operators and functions are the library's.

import type { RE2JS } from '@bufbuild/re2'
import { type ASTNode, type BinaryOperator, EvaluationError, Optional } from '@marcbachmann/cel-js'
import { assertArgumentKey, equalArguments, hasArgument } from './argument-equality.js'
import { charge, isBudgetSpent } from './budget.js'
import { hasMember, itemsOf, mapOf } from './collections.js'
import { callCost } from './costs/function-costs.js'
import { chargeBinary, chargeIndex, chargeKey } from './costs/operator-costs.js'
import { assertTypeDepth } from './costs/value-costs.js'
import { evaluationError } from './expression-error.js'
import {
  binaryOperation,
  callOperation,
  constantOf,
  readMember,
  readOptionalMember,
  unaryOperation,
} from './operations.js'
import { isLoop, subexpressions, writtenPattern } from './walk.js'

/** Values by place: those of the request's variables, then those of loops and cel.bind(). */
type Values = unknown[]

/** Evaluates a part of an expression. */
type Run<Value = unknown> = (values: Values) => Value

/** What a plan needs besides the syntax tree. */
export interface PlanOptions {
  /** Variables of the request, in the order in which their values are given. */
  readonly variables: readonly string[]
  /** Operators that may get an argument of an MCP tool. */
  readonly getArguments?: ReadonlySet<ASTNode>
  /** The patterns that are written out, compiled. */
  readonly patterns?: ReadonlyMap<string, RE2JS>
}

/** Returns what evaluates a checked expression, given the values of the variables: reading undefined is an error. */
export function plan(ast: ASTNode, options: PlanOptions): Run {
  const places = new Map(options.variables.map((name, place) => [name, place]))
  const run = planNode(ast, { ...options, places, next: places.size })
  return isLeaf(ast) ? charging(1, run) : run
}

interface Scope extends PlanOptions {
  readonly places: ReadonlyMap<string, number>
  /** Place of the next variable. */
  readonly next: number
}

const within = (scope: Scope, variable: string): Scope => ({
  ...scope,
  places: new Map(scope.places).set(variable, scope.next),
  next: scope.next + 1,
})

/** Leaves are charged by their parents: they do nothing, and would cost more to count than to evaluate. */
const isLeaf = ({ op }: ASTNode): boolean => op === 'value' || op === 'id'

const leaves = (parts: readonly ASTNode[]): number => parts.filter(isLeaf).length

/** Steps for an error that is caught, or becomes an empty optional. */
const ERROR_STEPS = 150
/** Bytes of each item that a loop puts into a list. */
const ITEM_BYTES = 16

/** Returns the steps of a node, without those of the parts that have steps of their own. */
function stepsOf(node: ASTNode): number {
  if (isLoop(node)) return 2 + leaves(subexpressions(node).slice(0, 1))
  const steps = 1 + leaves(subexpressions(node))
  if (node.op === '.?' || node.op === '[?]') return steps + ERROR_STEPS
  return node.op === 'list' || node.op === 'map' ? steps + node.args.length : steps
}

const charging =
  (steps: number, run: Run): Run =>
  (values) => {
    charge(steps)
    return run(values)
  }

const planNode = (node: ASTNode, scope: Scope): Run =>
  isLeaf(node) ? uncharged(node, scope) : charging(stepsOf(node), uncharged(node, scope))

type Node<Op extends ASTNode['op']> = Extract<ASTNode, { readonly op: Op }>

function uncharged(node: ASTNode, scope: Scope): Run {
  switch (node.op) {
    case 'value': {
      const value = node.args
      return () => value
    }
    case 'id':
      return nameRun(node.args, scope)
    case '.':
    case '.?':
    case '[]':
    case '[?]':
      return memberRun(node, scope)
    case '?:': {
      const test = condition(node.args[0], scope)
      const [left, right] = [planNode(node.args[1], scope), planNode(node.args[2], scope)]
      return (values) => (test(values) ? left(values) : right(values))
    }
    case '&&':
    case '||':
      return logicalRun(node, scope)
    case '!_':
    case '-_': {
      const [run, apply] = [planNode(node.args, scope), unaryOperation(node.op)]
      return (values) => {
        const value = run(values)
        assertTypeDepth(value)
        return apply(value)
      }
    }
    case 'list': {
      const items = node.args.map((item) => planNode(item, scope))
      return (values) => evaluateAll(items, values)
    }
    case 'map':
      return mapRun(node, scope)
    case 'call':
      return callRun(node, scope)
    case 'rcall':
      return methodRun(node, scope)
    default:
      return binaryRun(node, scope)
  }
}

/** Evaluates the last first, as the library does. */
function evaluateAll(runs: readonly Run[], values: Values): unknown[] {
  const results = new Array<unknown>(runs.length)
  for (let at = runs.length - 1; at >= 0; at--) results[at] = runs[at]?.(values)
  return results
}

/** Returns an error instead of throwing it. A spent budget ends the evaluation. */
function attempt<Value>(run: Run<Value>, values: Values): Value | Error {
  try {
    return run(values)
  } catch (error) {
    if (isBudgetSpent() || !(error instanceof Error)) throw error
    charge(ERROR_STEPS)
    return error
  }
}

/** Returns the bool that a part gives. */
function condition(node: ASTNode, scope: Scope, code = 'invalid_condition_type'): Run<boolean> {
  const run = planNode(node, scope)
  return (values) => {
    const value = run(values)
    if (typeof value === 'boolean') return value
    throw noBool(value, code)
  }
}

/** @throws CelLimitError for a value that is nested deeply. */
function noBool(value: unknown, code: string): Error {
  assertTypeDepth(value)
  return evaluationError(code)
}

function nameRun(name: string, { places }: Scope): Run {
  const place = places.get(name)
  if (place === undefined) {
    const constant = constantOf(name)
    return () => constant
  }
  return (values) => {
    const value = values[place]
    if (value === undefined) throw evaluationError('variable_type_mismatch')
    return value
  }
}

function memberRun(node: Node<'.' | '.?' | '[]' | '[?]'>, scope: Scope): Run {
  const [base, key] = node.args
  const run = planNode(base, scope)
  const read = node.op === '.' || node.op === '[]' ? readMember : readOptionalMember
  if (typeof key === 'string') return (values) => read(run(values), key)
  const runKey = planNode(key, scope)
  const getsArgument = scope.getArguments?.has(node) === true
  return (values) => {
    const [of, at] = [run(values), runKey(values)]
    chargeIndex(at)
    if (getsArgument) assertArgumentKey(of, at)
    return read(of, at)
  }
}

/** An error of the left side is of no account if the right side decides. */
function logicalRun({ op, args: [left, right] }: Node<'&&' | '||'>, scope: Scope): Run {
  const code = 'invalid_logical_operand'
  const [run, test] = [planNode(left, scope), condition(right, scope, code)]
  const decisive = op === '||'
  return (values) => {
    const first = attempt(run, values)
    if (first === decisive) return decisive
    const second = test(values)
    if (typeof first === 'boolean' || second === decisive) return second
    throw first instanceof Error ? first : noBool(first, code)
  }
}

function binaryRun(node: Node<BinaryOperator>, scope: Scope): Run {
  const { op, args } = node
  const [runLeft, runRight] = [planNode(args[0], scope), planNode(args[1], scope)]
  const apply = scope.getArguments?.has(node) === true ? argumentOperation(op) : binaryOperation(op)
  const isEquality = op === '==' || op === '!='
  return (values) => {
    const left = runLeft(values)
    const right = runRight(values)
    if (isEquality && (left === null || right === null)) return (left === right) === (op === '==')
    chargeBinary(op, left, right)
    return apply(left, right)
  }
}

/** An operator for arguments of MCP tools, which fails for a value of another type. */
function argumentOperation(op: BinaryOperator): (left: unknown, right: unknown) => unknown {
  if (op === '==') return equalArguments
  if (op === '!=') return (left, right) => !equalArguments(left, right)
  const apply = binaryOperation(op)
  return (left, right) => hasArgument(left, right, () => apply(left, right) as boolean)
}

function mapRun({ args }: Node<'map'>, scope: Scope): Run {
  const entries = args.map((entry) => entry.map((part) => planNode(part, scope)) as [Run, Run])
  return (values) =>
    mapOf(
      entries.map(([runKey, item]) => {
        const key = runKey(values)
        chargeKey(key)
        return [key, item(values)]
      }),
    )
}

function callRun(node: Node<'call'>, scope: Scope): Run {
  const [name, args] = node.args
  const [first, second] = args
  if (name === 'has' && first?.op === '.') {
    const [base, member] = first.args
    const run = planNode(base, scope)
    return (values) => hasMember(run(values), member)
  }
  if (name === 'default' && first !== undefined && second !== undefined) {
    const [wanted, fallback] = [planNode(first, scope), planNode(second, scope)]
    return (values) => {
      const value = attempt(wanted, values)
      if (value instanceof Error && !isMissing(value)) throw value
      return value instanceof Error ? fallback(values) : (value ?? fallback(values))
    }
  }
  return functionRun(node, args, scope)
}

const isMissing = (error: Error): boolean =>
  error instanceof EvaluationError &&
  (error.code === 'no_such_key' || error.code === 'index_out_of_bounds')

function methodRun(node: Node<'rcall'>, scope: Scope): Run {
  const [name, receiver, args] = node.args
  const [first, second, third] = args
  if (first !== undefined && (name === 'or' || name === 'orValue'))
    return alternativeRun(planNode(receiver, scope), planNode(first, scope), name)
  if (!isLoop(node) || first?.op !== 'id' || second === undefined)
    return functionRun(node, [receiver, ...args], scope)
  const inner = within(scope, first.args)
  if (name === 'bind' && third !== undefined) return bindRun(planNode(second, scope), third, inner)
  const items = planNode(receiver, scope)
  if (name === 'all' || name === 'exists')
    return quantifierRun(items, second, inner, name === 'exists')
  if (name === 'map' && third === undefined) return listRun(items, undefined, second, inner)
  const list = listRun(items, second, third ?? first, inner)
  return name === 'exists_one' ? (values) => list(values).length === 1 : list
}

function functionRun(
  node: Node<'call' | 'rcall'>,
  operands: readonly ASTNode[],
  scope: Scope,
): Run {
  const [name] = node.args
  const runs = operands.map((operand) => planNode(operand, scope))
  const written = writtenPattern(node)
  const pattern = written && scope.patterns?.get(written.args)
  const apply = callOperation(name, runs.length, node.op === 'rcall', pattern)
  const chargeFor = callCost(name)
  return (values) => {
    const given = evaluateAll(runs, values)
    chargeFor(given)
    let depth = 0
    for (const operand of given) depth = assertTypeDepth(operand, depth)
    return apply(given)
  }
}

function alternativeRun(run: Run, alternative: Run, name: 'or' | 'orValue'): Run {
  return (values) => {
    const optional = run(values)
    if (!(optional instanceof Optional)) throw evaluationError('optional_expected')
    if (optional.hasValue()) return name === 'or' ? optional : (optional.value() as unknown)
    const value = alternative(values)
    if (name === 'or' && !(value instanceof Optional)) throw evaluationError('optional_expected')
    return value
  }
}

function bindRun(value: Run, body: ASTNode, inner: Scope): Run {
  const run = planNode(body, inner)
  const place = inner.next - 1
  const steps = leaves([body])
  return (values) => {
    charge(steps)
    values[place] = value(values)
    return run(values)
  }
}

/** all() and exists(): an error for one item is of no account if another decides. */
function quantifierRun(items: Run, predicate: ASTNode, inner: Scope, decisive: boolean): Run {
  const test = condition(predicate, inner)
  const place = inner.next - 1
  const steps = 3 + leaves([predicate])
  return (values) => {
    let failed: Error | undefined
    for (const item of itemsOf(items(values))) {
      charge(steps)
      values[place] = item
      const result = attempt(test, values)
      if (result === decisive) return decisive
      if (typeof result !== 'boolean') failed ??= result
    }
    if (failed !== undefined) throw failed
    return !decisive
  }
}

/** filter(), map() and exists_one(): the items for which the predicate holds, or what is made of them. */
function listRun(
  items: Run,
  predicate: ASTNode | undefined,
  made: ASTNode,
  inner: Scope,
): Run<readonly unknown[]> {
  const test = predicate && condition(predicate, inner)
  const make = planNode(made, inner)
  const place = inner.next - 1
  const [testSteps, steps] = [predicate ? 2 + leaves([predicate]) : 0, 1 + leaves([made])]
  return (values) => {
    const list: unknown[] = []
    for (const item of itemsOf(items(values))) {
      charge(testSteps)
      values[place] = item
      if (test !== undefined && !test(values)) continue
      charge(steps, ITEM_BYTES)
      list.push(make(values))
    }
    return list
  }
}
