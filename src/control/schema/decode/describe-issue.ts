// Turns a schema issue into a sentence that says what was found and what was expected.

import type { z } from 'zod'
import { similarWord } from '../../../kit/similar.js'

const LONGEST_QUOTE = 60

/** An issue with the value that it is about. */
export interface Described {
  readonly issue: z.core.$ZodIssue
  /** The value at the issue's path; undefined if there is none. */
  readonly value: unknown
  /** Whether values are secret and must not be quoted. */
  readonly secret: boolean
}

/** Returns a sentence, e.g. '"strict" is not one of Strict, Optional, Permissive'. */
export function describeIssue({ issue, value, secret }: Described): string {
  const shown = showValue(value, secret)
  switch (issue.code) {
    case 'invalid_type':
      return value !== undefined && hasOwnMessage(issue)
        ? `${shown} ${issue.message}`
        : describeType(issue.expected, value, shown)
    case 'invalid_value':
      return describeChoice(
        issue.values.map(String),
        value,
        shown,
        hasOwnMessage(issue) ? issue.message : undefined,
      )
    case 'invalid_union':
      return !('options' in issue) || issue.options === undefined
        ? `${shown} has none of the forms that are accepted here`
        : describeChoice(issue.options.map(String), value, shown)
    case 'too_small':
      return describeBound(issue, { side: 'least', limit: issue.minimum }, shown)
    case 'too_big':
      return describeBound(issue, { side: 'most', limit: issue.maximum }, shown)
    case 'invalid_format':
      return `${shown} ${issue.message}`
    case 'invalid_key':
      return `this key cannot be used here${issue.issues.map((inner) => `: ${describeIssue({ issue: inner, value: issue.path.at(-1), secret })}`).join('')}`
    default:
      return issue.message
  }
}

/** Whether the message is of a schema in resources/kinds, and not zod's. */
const hasOwnMessage = ({ message }: z.core.$ZodIssue): boolean => !message.startsWith('Invalid ')

/** Names of the expected types. All numbers in resources are integers. */
const NAMES: Readonly<Record<string, string>> = {
  object: 'a map',
  record: 'a map',
  array: 'a list',
  string: 'a string',
  number: 'an integer',
  int: 'an integer',
  boolean: 'true or false',
}

function describeType(expected: string, value: unknown, shown: string): string {
  const wanted = NAMES[expected] ?? expected
  if (value === undefined) return `is missing, expected ${wanted}`
  if (value === null) return `is empty (null), expected ${wanted}`
  return `${shown} is not ${wanted}${typeHint(expected, value)}`
}

/** Hints at missing or superfluous quotes, the usual mistake: YAML reads 80 as a number and "80" as a string. */
function typeHint(expected: string, value: unknown): string {
  if (expected === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return ' (put it in quotes)'
  if (expected === 'boolean' && typeof value === 'string') {
    if (/^(?:yes|on)$/i.test(value)) return ' (write true)'
    if (/^(?:no|off)$/i.test(value)) return ' (write false)'
  }
  const unquotable =
    typeof value === 'string' &&
    (expected === 'boolean' ? /^(true|false)$/ : /^-?[0-9]+$/).test(value) &&
    ['number', 'int', 'boolean'].includes(expected)
  return unquotable ? ' (leave the quotes out)' : ''
}

/** about: a sentence about the choices. */
function describeChoice(
  choices: readonly string[],
  value: unknown,
  shown: string,
  about?: string,
): string {
  const expected = choices.length === 1 ? choices[0] : `one of ${choices.join(', ')}`
  if (value === undefined) return `is missing, expected ${expected}`
  const meant = typeof value === 'string' ? meantChoice(value, choices) : undefined
  if (meant !== undefined && choices.length > 1)
    return `${shown} is not ${expected}; did you mean ${meant}?`
  return `${shown} is not ${expected}${about === undefined ? '' : `: ${about}`}`
}

const SHORTEST_PART = 3

/** Returns a choice that is spelt alike, or the only one that the word is a part of, as Prefix is of PathPrefix. */
function meantChoice(word: string, choices: readonly string[]): string | undefined {
  const similar = similarWord(word, choices)
  if (similar !== undefined || word.length < SHORTEST_PART) return similar
  const part = word.toLowerCase()
  const [only, ...others] = choices.filter((choice) => choice.toLowerCase().includes(part))
  return others.length === 0 ? only : undefined
}

/** What a size or number must at least or at most be. */
interface Bound {
  readonly side: 'least' | 'most'
  readonly limit: number | bigint
}

function describeBound(
  { origin }: { readonly origin: string },
  { side, limit }: Bound,
  shown: string,
): string {
  const bound = `at ${side} ${limit}`
  const isLow = side === 'least'
  if (origin === 'array') return `has too ${isLow ? 'few' : 'many'} entries, expected ${bound}`
  if (origin === 'object' || origin === 'record')
    return `has too ${isLow ? 'few' : 'many'} members, expected ${bound}`
  if (origin !== 'string') return `${shown} is out of range, expected ${bound}`
  return isLow && Number(limit) === 1
    ? 'must not be empty'
    : `is too ${isLow ? 'short' : 'long'}, expected ${bound} characters`
}

/** Quotes the value as in YAML, truncated to fit a line; for a secret, only its type. */
function showValue(value: unknown, secret: boolean): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'a map'
  if (secret) return `the ${typeof value} here`
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text
}
