// Defines the variables, functions and limits of expressions; undeclared names are rejected.

import { type ASTNode, Environment, EvaluationError, Optional } from '@marcbachmann/cel-js'
import { ExpressionError } from './expression-error.js'
import { registerFunctions } from './functions.js'

// Implements has(x.y), which the library allows only on plain paths, and default(x.y, fallback), which it lacks.

/** Parts of the library's checker and evaluator, as its documented macro interface provides them. */
interface Checker {
  check(node: ASTNode, context: unknown): unknown
  getType(name: string): unknown
}
interface Evaluator {
  run(node: ASTNode, context: unknown): unknown
}
interface Macro {
  readonly args: readonly ASTNode[]
  typeCheck(checker: Checker, macro: Macro, context: unknown): unknown
  evaluate(evaluator: Evaluator, macro: Macro, context: unknown): unknown
  readonly async: false
}
interface MacroCall {
  readonly ast: ASTNode
  readonly args: readonly ASTNode[]
}

/** Adds the macros to an environment. */
function registerMacros(environment: Environment): void {
  environment.registerFunction('_as(ast): bool', hasMacro, { async: false })
  environment.registerFunction('default(ast, ast): dyn', defaultMacro, { async: false })
}

/** True for a map that has the member, false for any other value; an error in the base stays an error. */
function hasMacro({ ast, args }: MacroCall): Macro {
  const argument = args[0]
  if (argument?.op !== '.')
    throw new ExpressionError('has() takes a member, as in has(jwt.email)', ast.start, ast.end)
  const [base, member] = argument.args
  return {
    args,
    async: false,
    typeCheck(checker, _macro, context) {
      checker.check(base, context)
      return checker.getType('bool')
    },
    evaluate: (evaluator, _macro, context) => hasMember(evaluator.run(base, context), member),
  }
}

function hasMember(base: unknown, member: string): boolean {
  if (base instanceof Map) return base.has(member)
  if (isOptional(base)) return base.hasValue() && hasMember(base.value(), member)
  if (typeof base !== 'object' || base === null) return false
  return Object.getPrototypeOf(base) === Object.prototype && Object.hasOwn(base, member)
}

interface OptionalValue {
  hasValue(): boolean
  value(): unknown
}

const isOptional = (value: unknown): value is OptionalValue => value instanceof Optional

const MISSING = new Set(['no_such_key', 'unknown_variable', 'index_out_of_bounds'])

/** Evaluates to the fallback where the wanted value is missing or null; any other error stays an error. */
function defaultMacro({ args }: MacroCall): Macro {
  const [wanted, fallback] = args as readonly [ASTNode, ASTNode]
  return {
    args,
    async: false,
    typeCheck(checker, _macro, context) {
      checker.check(wanted, context)
      checker.check(fallback, context)
      return checker.getType('dyn')
    },
    evaluate(evaluator, _macro, context) {
      return valueOrMissing(evaluator, wanted, context) ?? evaluator.run(fallback, context)
    },
  }
}

function valueOrMissing(evaluator: Evaluator, node: ASTNode, context: unknown): unknown {
  try {
    return evaluator.run(node, context)
  } catch (error) {
    if (error instanceof EvaluationError && MISSING.has(error.code)) return undefined
    throw error
  }
}

/** Maximum length of an expression, in characters (decision 28). */
export const MAX_EXPRESSION_LENGTH = 16_384

const OPTIONS = {
  unlistedVariablesAreDyn: false,
  homogeneousAggregateLiterals: false,
  enableOptionalTypes: true,
  limits: {
    maxDepth: 64,
    maxAstNodes: 4000,
    maxListElements: 1000,
    maxMapEntries: 200,
    maxCallArguments: 16,
  },
}

/** Parses the source before calls are renamed; only the syntax tree is used. */
export const syntaxEnvironment = new Environment(OPTIONS).registerFunction(
  'default(ast, ast): dyn',
  () => ({ typeCheck: () => undefined, evaluate: () => undefined }),
  { async: false },
)

/** The environment of all expressions. */
export const ruleEnvironment = new Environment(OPTIONS)
  .registerVariable('jwt', 'dyn')
  .registerVariable('request', 'dyn')
  .registerVariable('source', 'dyn')
  .registerVariable('llmRequest', 'dyn')
  .registerVariable({
    name: 'mcp',
    schema: {
      method: 'string',
      id: 'dyn',
      protocolVersion: 'string',
      tool: { name: 'string', arguments: 'dyn' },
      prompt: { name: 'string' },
      resource: { uri: 'string' },
    },
  })
registerFunctions(ruleEnvironment)
registerMacros(ruleEnvironment)
