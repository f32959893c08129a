// Compiles an expression: parses it, finds what it reads, checks the types, plans the evaluation. A tenant's expression of
// the maximum length takes tens of milliseconds, so other work gets its turn between the steps.

import type { RE2JS } from '@bufbuild/re2'
import { type ASTNode, EvaluationError } from '@marcbachmann/cel-js'
import { err, ok, type Result } from '../../kit/result.js'
import type { Work } from '../../kit/turns.js'
import { findArgumentReads } from './argument-reads.js'
import { type Attributes, attributeValue, type Root, ROOTS } from './attributes.js'
import { Budget, BUDGET_EXCEEDED, charge, spending } from './budget.js'
import { classSteps } from './costs/class-steps.js'
import { isKey } from './costs/operator-costs.js'
import { MAX_EXPRESSION_LENGTH, ruleEnvironment } from './environment.js'
import { ExpressionError } from './expression-error.js'
import { estimatedSize } from './pattern-size.js'
import { holdPattern, MAX_CLASS_STEPS, MAX_PATTERN_SIZE, MAX_PATTERNS_SIZE } from './patterns.js'
import { plan } from './plan.js'
import { type CelProblem, celProblem, problemOf } from './problem.js'
import { findReads, type Reads } from './reads.js'
import { CelLimitError } from './values.js'
import { isLoop, subexpressions, walk, writtenPattern } from './walk.js'

/** A compiled expression. */
export interface Expression {
  readonly reads: Reads
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
  const { ast } = ruleEnvironment.parse(source)
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
  const type = checkTypes(source, ast)
  yield
  const getArguments = findArgumentReads(ast)
  const evaluate = plan(ast, { variables: [...reads.roots.keys()], getArguments, patterns })
  yield
  yield* assertClosedParts(ast)
  return { reads, type, run: runner(evaluate, [...reads.roots]) }
}

/**
 * Compiles written-out patterns now: a bad one is reported to its author, and no request waits for it. Different ones
 * are limited together.
 */
function* holdPatterns(ast: ASTNode): Work<ReadonlyMap<string, RE2JS>> {
  const written = new Map<string, ASTNode>()
  walk(ast, (node) => {
    const pattern = writtenPattern(node)
    if (pattern !== undefined && !written.has(pattern.args)) written.set(pattern.args, pattern)
  })
  const held = new Map<string, RE2JS>()
  let [size, steps] = [0, 0]
  for (const [text, { start, end }] of written) {
    size += estimatedSize(text)
    steps += classSteps(text)
    if (held.size > 0 && (size > MAX_PATTERNS_SIZE || steps > MAX_CLASS_STEPS))
      throw new ExpressionError(
        `the patterns are too large together; at most ${MAX_PATTERNS_SIZE} instructions are allowed in an expression, and a class of Unicode counts as hundreds`,
        start,
        end,
      )
    held.set(text, heldPattern(text, start, end))
    yield
  }
  return held
}

function heldPattern(text: string, start: number, end: number): RE2JS {
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

/** Keys by which the library takes a map for something else, or leaves them out. */
const OTHER_KEYS: readonly unknown[] = ['__proto__', 'constructor', 'prototype']

function assertMapKeys(ast: ASTNode): void {
  walk(ast, (node) => {
    if (node.op !== 'map') return
    for (const [key] of node.args)
      if (key.op === 'value' && (OTHER_KEYS.includes(key.args) || !isKey(key.args)))
        throw new ExpressionError(
          typeof key.args === 'string'
            ? `a map cannot have the key ${key.args}`
            : 'a map cannot have a key of this type; expected a bool, a number or a string',
          key.start,
          key.end,
        )
  })
}

/** Returns the library's name of the type. @throws TypeError, ExpressionError. */
export function checkTypes(source: string, ast: ASTNode, environment = ruleEnvironment): string {
  const { type, error } = environment.check(withAnyBase(source, ast))
  if (error !== undefined || type === undefined) throw error ?? new Error('no type')
  return type
}

/**
 * Returns the text for the check. The library's has() takes has(a.b.c), but neither has(a["b"].c) nor has(f(a).b), so its
 * base stands in _as(), a function of any value. All else keeps its position.
 */
function withAnyBase(source: string, ast: ASTNode): string {
  const characters = source.split('')
  walk(ast, (node) => {
    if (node.op !== 'call') return
    const [name, [member, ...others]] = node.args
    if (name === '_as') throw new ExpressionError('there is no function _as', node.start, node.end)
    if (name !== 'has' || member === undefined || others.length > 0) return
    if (member.op !== '.')
      throw new ExpressionError('has() takes a member, as in has(jwt.email)', node.start, node.end)
    // Closing parentheses and comments can be between the base and the dot.
    const [between = ''] = /^(?:[\s)]|\/\/[^\n]*)*/.exec(source.slice(member.args[0].end)) ?? []
    characters.fill(' ', member.args[0].end + between.length, member.end)
    characters[node.start] = '_'
  })
  return characters.join('')
}

/** Steps to start an evaluation; a route may have a thousand rules. */
const RUN_STEPS = 10

function runner(
  evaluate: (values: unknown[]) => unknown,
  roots: readonly (readonly [Root, ReadonlySet<string>])[],
): Expression['run'] {
  return (attributes, budget) => {
    try {
      const value = spending(budget, () => {
        charge(RUN_STEPS)
        return evaluate(roots.map(([root, members]) => attributeValue(attributes, root, members)))
      })
      return budget.isSpent ? err(BUDGET_EXCEEDED) : ok(value)
    } catch (error) {
      return err(budget.isSpent ? BUDGET_EXCEEDED : errorCode(error))
    }
  }
}

function errorCode(error: unknown): string {
  if (error instanceof EvaluationError || error instanceof CelLimitError) return error.code
  return error instanceof RangeError ? 'limit_exceeded' : 'evaluation_error'
}

// Evaluates the loops of an expression that read nothing of the request. Their cost is known in advance, so the author
// of the policy learns if it is too high.

/** Yields after each loop. @throws ExpressionError at the first loop that exceeds the default budget. */
function* assertClosedParts(ast: ASTNode): Work<void> {
  const total = new Budget()
  for (const loop of closedLoops(ast)) {
    if (total.isSpent) return
    const isOver = spends(loop, total)
    yield
    if (isOver && spends(loop, new Budget()))
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
  walk(ast, (node) => {
    if (!isLoop(node) || !isClosed(node)) return false
    loops.push(node)
    return true
  })
  return loops
}

/** Whether an expression names nothing but its own variables and what means the same in every request. */
function isClosed(root: ASTNode): boolean {
  let closed = true
  walk(root, (node, scope) => {
    if (node.op === 'id' && !scope.has(node.args))
      closed &&= ruleEnvironment.hasVariable(node.args) && !ROOTS.includes(node.args as Root)
    return !closed
  })
  return closed
}

function spends(loop: ASTNode, budget: Budget): boolean {
  try {
    spending(budget, () => plan(loop, { variables: [] })([]))
  } catch {
    // Other errors are reported by other checks.
  }
  return budget.isSpent
}

// Limits how deeply lists and maps of an expression lie within each other. The library makes a type for each way in which
// they do, and keeps it for as long as the process lives: policies come and go, and their types would fill the memory.

/** Levels of lists, maps and optionals: about 30,000 types can be made of them. */
const MAX_DEPTH = 4

type Depths = ReadonlyMap<string, number>

/** @throws ExpressionError for a list or map that is nested too deeply. */
function assertLiteralDepth(ast: ASTNode): void {
  depthOf(ast, new Map())
}

/** Returns the most levels that the type of a node can have. variables: those of the variables around it. */
function depthOf(node: ASTNode, variables: Depths): number {
  switch (node.op) {
    case 'id':
      return variables.get(node.args) ?? 0
    case 'list':
      return within(node, deepest(node.args, variables) + 1)
    case 'map':
      return within(node, deepest(subexpressions(node), variables) + levelsOf(node.args))
    case '.?':
      return Math.max(1, depthOf(node.args[0], variables))
    case 'call':
      deepest(node.args[1], variables)
      return 0
    case 'rcall':
      return within(node, methodDepth(node.args, variables))
    default:
      return deepest(subexpressions(node), variables)
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
