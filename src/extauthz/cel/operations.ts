// Evaluates single operators and calls with the library: each is an expression of its own, such as a0 + a1, whose
// variables are the operands. What its functions get wrong is replaced.

import type { RE2JS } from '@bufbuild/re2'
import type { BinaryOperator, UnaryOperator } from '@marcbachmann/cel-js'
import { ruleEnvironment } from './environment.js'
import { evaluationError } from './expression-error.js'
import { asciiLower, asciiUpper } from './functions.js'
import { matchesCompiled, matchesComputedPattern } from './patterns.js'

/** Names of the operands: no function has more. */
const NAMES = ['a0', 'a1', 'a2', 'a3']

const environment = ruleEnvironment.clone()
for (const name of NAMES) environment.registerVariable(name, 'dyn')

/** Gets the operands. @throws EvaluationError for those of a type that it does not take. */
type Evaluate = (operands: Readonly<Record<string, unknown>>) => unknown

/** By expression: as many as there are operators and functions. */
const operations = new Map<string, Evaluate>()

function operation(source: string): Evaluate {
  const known = operations.get(source)
  if (known !== undefined) return known
  const evaluate = environment.parse(source)
  const { error } = evaluate.check()
  if (error !== undefined) throw error
  operations.set(source, evaluate)
  return evaluate
}

/** Returns an operator of two operands. */
export function binaryOperation(op: BinaryOperator): (left: unknown, right: unknown) => unknown {
  const evaluate = operation(`a0 ${op} a1`)
  if (op !== 'in') return (a0, a1) => evaluate({ a0, a1 })
  return (a0, a1) => (isTextAmongTexts(a0, a1) ? a1.includes(a0) : evaluate({ a0, a1 }))
}

/** Most rules look for a text in a list, which takes the library longer. Like it, we look at the first item. */
const isTextAmongTexts = (value: unknown, list: unknown): list is readonly unknown[] =>
  typeof value === 'string' && Array.isArray(list) && typeof list[0] === 'string'

/** Returns an operator of one operand. */
export function unaryOperation(op: UnaryOperator): (operand: unknown) => unknown {
  const evaluate = operation(`${op.charAt(0)}a0`)
  return (a0) => evaluate({ a0 })
}

const member = operation('a0[a1]')
const optionalMember = operation('a0[?a1]')

/** @throws EvaluationError if there is no such member. */
export function readMember(base: unknown, name: unknown): unknown {
  if (!(base instanceof Map)) return member({ a0: base, a1: name })
  const value: unknown = base.get(name)
  if (value === undefined) throw evaluationError('no_such_key')
  return value
}

/** Returns an optional, which is empty if there is no such member. */
export const readOptionalMember = (a0: unknown, a1: unknown): unknown => optionalMember({ a0, a1 })

/** Instead of the library's: RE2 is linear in the subject, and only ASCII changes its case. All take texts. */
const REPLACED = new Map<string, (text: string, other: string) => unknown>([
  ['matches', matchesComputedPattern],
  ['lowerAscii', asciiLower],
  ['upperAscii', asciiUpper],
])

/** A function that gets its operands, the receiver of a method first. */
type Call = (operands: readonly unknown[]) => unknown

/** Returns a function of a checked expression. pattern: of matches(), if it is written out. */
export function callOperation(
  name: string,
  count: number,
  isMethod: boolean,
  pattern?: RE2JS,
): Call {
  // A pattern that is written out may be long: it is the author's own, and was compiled with the expression.
  if (pattern !== undefined) return ofTexts((subject) => matchesCompiled(subject, pattern))
  const replaced = REPLACED.get(name)
  if (replaced !== undefined) return ofTexts(replaced)
  const names = NAMES.slice(0, count)
  const call = isMethod ? `a0.${name}(${names.slice(1).join()})` : `${name}(${names.join()})`
  const evaluate = operation(call)
  return ([a0, a1, a2, a3]) => evaluate({ a0, a1, a2, a3 })
}

const ofTexts =
  (apply: (text: string, other: string) => unknown): Call =>
  ([text, other = '']) => {
    if (typeof text === 'string' && typeof other === 'string') return apply(text, other)
    throw evaluationError('no_matching_overload')
  }

/** Returns the value of a name that is no variable, e.g. of a type. */
export const constantOf = (name: string): unknown => operation(name)({})
