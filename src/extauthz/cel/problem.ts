// Turns errors of the library and of Gatehouse's own checks into messages for the author of an expression.

import { ParseError, TypeError as CelTypeError } from '@marcbachmann/cel-js'
import type { Root } from './attributes.js'
import { ExpressionError } from './expression-error.js'

/** Why an expression does not compile. */
export interface CelProblem {
  /** A complete message: line and column, the problem, and what was expected if known. */
  readonly message: string
  /** Offsets in the expression; all of it if the problem has no position. */
  readonly start: number
  readonly end: number
}

/** Returns a problem with the line and column of its start. */
export function celProblem(
  source: string,
  message: string,
  start = 0,
  end = source.length,
): CelProblem {
  const before = source.slice(0, start).split('\n')
  const column = (before.at(-1) ?? '').length + 1
  return { message: `line ${before.length}, column ${column}: ${message}`, start, end }
}

/** error: anything that parsing or checking threw or returned. roots: the variables that the expression may read. */
export function problemOf(source: string, error: unknown, roots: readonly Root[]): CelProblem {
  if (error instanceof ExpressionError)
    return celProblem(source, error.message, error.start, error.end)
  if (error instanceof ParseError || error instanceof CelTypeError) {
    const range = error.range ?? { start: 0, end: source.length }
    return celProblem(
      source,
      error.code === 'unexpected_character'
        ? unexpected(source, range)
        : sentence(error.code, error.summary.replaceAll('$mcp', 'mcp'), roots),
      range.start,
      range.end,
    )
  }
  if (error instanceof RangeError)
    return celProblem(source, 'the expression is nested too deeply; at most 64 levels are allowed')
  return celProblem(source, 'the expression could not be read')
}

/** Replaces the parser's message, which names a single character of the unexpected text, and not the first. */
function unexpected(source: string, { start, end }: Pick<CelProblem, 'start' | 'end'>): string {
  const met = source.slice(start, end)
  // A quotation mark within a literal has ended it, and the rest of the literal follows.
  if (/["']/.test(source.charAt(start - 1))) return 'unexpected text behind a string'
  const meant = MEANT[met]
  const expected = meant === undefined ? 'an operator, e.g. &&, || or ==' : `"${meant}"`
  return `unexpected ${withoutLiteral(met)}; expected ${expected}`
}

/** Hides literals: messages appear in logs and statuses, and a literal may be a key that callers must send. */
function withoutLiteral(met: string): string {
  if (/["']/.test(met)) return 'string'
  return /^[\d.]/.test(met) ? 'number' : `"${met}"`
}

/** Operators of other languages → CEL. */
const MEANT: Readonly<Record<string, string>> = {
  and: '&&',
  AND: '&&',
  '&': '&&',
  or: '||',
  OR: '||',
  '|': '||',
  '=': '==',
}

function sentence(code: string, summary: string, roots: readonly Root[]): string {
  const lower = summary.charAt(0).toLowerCase() + summary.slice(1)
  switch (code) {
    case 'unknown_variable':
      return `${lower}; expected ${roots.join(', ')} or a function's own variable`
    case 'no_matching_overload':
      return `${lower.replace('found no matching overload for', 'there is no function')}; expected a function of CEL with arguments of its types`
    case 'no_such_overload':
      return `${lower.replace('no such overload:', 'there is no operation')}; expected operands of types that go together`
    case 'expected_token':
    case 'unexpected_token':
      return lower.replace(/\b[A-Z]+\b/g, (token) => TOKENS[token] ?? token.toLowerCase())
    default:
      return code.startsWith('invalid_') || code.startsWith('octal_') ? withoutPart(lower) : lower
  }
}

/** Cuts off the part of a literal that the library quotes behind a colon. */
const withoutPart = (summary: string): string => summary.split(':', 1)[0] ?? ''

/** The parser's token names that are not plain words. */
const TOKENS: Readonly<Record<string, string>> = {
  EOF: 'the end of the expression',
  AND: '"&&"',
  OR: '"||"',
  NOT: '"!"',
  EQ: '"=="',
  NE: '"!="',
  LT: '"<"',
  LE: '"<="',
  GT: '">"',
  GE: '">="',
  PLUS: '"+"',
  MINUS: '"-"',
  MULTIPLY: '"*"',
  DIVIDE: '"/"',
  MODULO: '"%"',
  IN: '"in"',
  LPAREN: '"("',
  RPAREN: '")"',
  LBRACKET: '"["',
  RBRACKET: '"]"',
  LBRACE: '"{"',
  RBRACE: '"}"',
  DOT: '"."',
  COMMA: '","',
  COLON: '":"',
  QUESTION: '"?"',
}
