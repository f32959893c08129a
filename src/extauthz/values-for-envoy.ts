// Computes header values and rate-limit keys for an allowed request. An expression without a value gives no header, and
// leaves its limit to the bucket that all such requests share.

import { hash } from 'node:crypto'
import { atOnce, type Work } from '../kit/turns.js'
import type { AuthzEntry } from '../model/authz-entry.js'
import { limitName } from '../model/names.js'
import type { HeaderExpression, LimitKey } from '../model/transformation.js'
import type { Attributes } from './cel/attributes.js'
import type { Budget } from './cel/budget.js'
import { compileValue, RULE_VARIABLES, type ValueExpression } from './cel/value.js'

/** Compiled expressions for headers and limit keys. */
export interface CompiledValues {
  readonly limitKeys: readonly Named[]
  readonly requestSet: readonly Named[]
  readonly requestAdd: readonly Named[]
  readonly requestRemove: readonly string[]
  readonly responseSet: readonly Named[]
  /** All expressions, for what they read. */
  readonly all: readonly ValueExpression[]
  /** Whether the values depend on the token alone. */
  readonly readTokenAlone: boolean
  /** Whether an expression does not compile. The translation rejects such policies; this is a second check. */
  readonly isBroken: boolean
}

interface Named {
  readonly name: string
  readonly expression: ValueExpression
}

type Field = readonly [name: string, value: string]

/** Computed headers and limit keys of one request. */
export interface ValuesForEnvoy {
  /** Hashed keys by limitName(); absent: no limit has a key. */
  readonly limitKeys?: Readonly<Record<string, string>>
  /** Replaces the client's own headers of these names. */
  readonly requestSet: readonly Field[]
  /** Second values of headers in requestSet. */
  readonly requestAppend: readonly Field[]
  /** Also headers to set or add whose expressions have no value, so that the client's own cannot pass for it. */
  readonly requestRemove: readonly string[]
  readonly responseSet: readonly Field[]
}

/** A function that compiles the expression of a value. A table passes a memoised one, as many routes share values. */
export type CompileOneValue = (
  value: HeaderExpression | LimitKey,
) => ReturnType<typeof compileValue>

/** Compiles it anew. */
export const compileOneValue: CompileOneValue = ({ expression }) =>
  compileValue(expression, RULE_VARIABLES)

type WithValues = Pick<AuthzEntry, 'limitKeys' | 'transformation'>

/** Compiles the expressions one by one, so that compileValues() finds them compiled. */
export function* compileExpressions(
  { limitKeys = [], transformation }: WithValues,
  compiledOf: CompileOneValue,
): Work<void> {
  const { request, response } = transformation ?? NOTHING
  for (const one of [...limitKeys, ...request.set, ...request.add, ...response.set]) {
    yield* compiledOf(one)
    yield
  }
}

/** undefined: the route has neither limit keys nor a transformation. */
export function compileValues(
  { limitKeys = [], transformation }: WithValues,
  compiledOf = compileOneValue,
): CompiledValues | undefined {
  if (limitKeys.length === 0 && transformation === undefined) return undefined
  const { request, response } = transformation ?? NOTHING
  let isBroken = false
  const all: ValueExpression[] = []
  const compiled = <One extends HeaderExpression | LimitKey>(
    list: readonly One[],
    nameOf: (one: One) => string,
  ): readonly Named[] =>
    list.flatMap((one) => {
      const value = atOnce(compiledOf(one))
      if (!value.ok) isBroken = true
      else all.push(value.value)
      return value.ok ? [{ name: nameOf(one), expression: value.value }] : []
    })
  const headers = (list: readonly HeaderExpression[]): readonly Named[] =>
    compiled(list, ({ name }) => name)
  const parts = {
    limitKeys: compiled(limitKeys, ({ index }) => limitName(index)),
    requestSet: headers(request.set),
    requestAdd: headers(request.add),
    requestRemove: request.remove,
    responseSet: headers(response.set),
  }
  return { ...parts, all, readTokenAlone: all.every(readsToken), isBroken }
}

const NOTHING: NonNullable<AuthzEntry['transformation']> = {
  request: { set: [], add: [], remove: [] },
  response: { set: [] },
}

const readsToken = ({ reads }: ValueExpression): boolean =>
  [...reads.roots.keys()].every((root) => root === 'jwt')

/** Never throws. budget: shared by all expressions; those after the one that exceeds it have no value. */
export function computeValues(
  compiled: CompiledValues,
  attributes: Attributes,
  budget: Budget,
): ValuesForEnvoy {
  const valueOf = ({ expression }: Named): string | undefined => {
    const result = budget.isSpent ? undefined : expression.evaluate(attributes, budget)
    return result?.ok === true ? result.value : undefined
  }
  const fields = (list: readonly Named[]): readonly Field[] =>
    list.flatMap((one) => {
      const value = valueOf(one)
      return value !== undefined && isHeaderValue(value) ? [[one.name, value] as const] : []
    })
  // First, so that an expensive header cannot move a caller to the bucket of those without a key.
  const limitKeys = Object.fromEntries(
    compiled.limitKeys.flatMap((one) => {
      const value = valueOf(one)
      return value === undefined ? [] : [[one.name, limitKey(value)]]
    }),
  )
  return {
    ...(compiled.limitKeys.length === 0 ? {} : { limitKeys }),
    ...requestHeaders(compiled, fields(compiled.requestSet), fields(compiled.requestAdd)),
    responseSet: fields(compiled.responseSet),
  }
}

/** The first value of a name replaces the client's headers, whether it is set or added (decision 6a). */
function requestHeaders(
  { requestSet, requestAdd, requestRemove }: CompiledValues,
  set: readonly Field[],
  added: readonly Field[],
): Pick<ValuesForEnvoy, 'requestSet' | 'requestAppend' | 'requestRemove'> {
  const isSet = new Set(set.map(([name]) => name))
  const first = [...set, ...added.filter(([name]) => !isSet.has(name))]
  const found = new Set(first.map(([name]) => name))
  const lacking = [...requestSet, ...requestAdd].filter(({ name }) => !found.has(name))
  return {
    requestSet: first,
    requestAppend: added.filter(([name]) => isSet.has(name)),
    requestRemove: [...requestRemove, ...new Set(lacking.map(({ name }) => name))],
  }
}

/** A hash: of fixed length, and without user names in Envoy's logs. */
const limitKey = (value: string): string => hash('sha256', value, 'base64url')

const MAX_VALUE_BYTES = 2048

/**
 * Whether a value is one line of text without white space at its ends. A backend would trim that, which could turn one
 * user into another; control characters could end the header.
 */
const isHeaderValue = (value: string): boolean =>
  value !== '' &&
  Buffer.byteLength(value) <= MAX_VALUE_BYTES &&
  !/[\p{Cc}\p{Cs}]/u.test(value) &&
  value.trim() === value
