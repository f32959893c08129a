// Charges for work on a whole value: each value in it is visited and charged at most as often as that work visits it.
// Values may share parts (cel.bind), so memory does not bound their size.

import { EvaluationError } from '@marcbachmann/cel-js'
import { charge } from '../budget.js'
import { isRepeatedHeader } from '../repeated-headers.js'
import { CelLimitError } from '../values.js'

/** Number of characters compared, hashed or copied in one step. */
export const CHARACTERS_PER_STEP = 64

/** Returns the steps of work on a text of this length. */
export const textSteps = (length: number): number => 1 + length / CHARACTERS_PER_STEP

/** Charges for what visits all of value: a conversion, a message about it. bytesPerCharacter: made of its texts. */
export function chargeWhole(value: unknown, bytesPerCharacter = 0): void {
  if (typeof value === 'string')
    return charge(textSteps(value.length), value.length * bytesPerCharacter)
  charge(1, 16 * Math.min(bytesPerCharacter, 1))
  if (typeof value !== 'object' || value === null) return
  if (value instanceof Uint8Array)
    return charge(textSteps(value.length), value.length * bytesPerCharacter)
  if (Array.isArray(value))
    for (const item of value as readonly unknown[]) chargeWhole(item, bytesPerCharacter)
  else if (value instanceof Map)
    for (const [key, item] of value as ReadonlyMap<unknown, unknown>) {
      chargeWhole(key, bytesPerCharacter)
      chargeWhole(item, bytesPerCharacter)
    }
  else if (isPlainObject(value))
    for (const item of Object.values(value)) chargeWhole(item, bytesPerCharacter)
}

function isPlainObject(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Charges for ==, != and the elements of in. A repeated header is a list: compared with a string it would always be
 * unequal, and a Deny would miss it.
 * @throws EvaluationError for such a comparison.
 */
export function chargeComparison(left: unknown, right: unknown): void {
  if (typeof left === 'string' && typeof right === 'string') {
    if (left.length === right.length) charge(left.length / CHARACTERS_PER_STEP)
    return
  }
  if (isRepeatedHeader(left) !== isRepeatedHeader(right)) assertNoText(left, right)
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null)
    return
  charge(1)
  if (left === right) return
  if (Array.isArray(left) && Array.isArray(right)) compareLists(left, right)
  else if (left instanceof Uint8Array && right instanceof Uint8Array)
    charge(textSteps(Math.min(left.length, right.length)) * 8)
  else if (isMapLike(left) && isMapLike(right)) compareMaps(left, right)
}

function assertNoText(left: unknown, right: unknown): void {
  if (typeof left === 'string' || typeof right === 'string') throw repeatedHeader()
}

/** Returns the error of work on a repeated header. */
export const repeatedHeader = (): EvaluationError =>
  new EvaluationError({
    code: 'repeated_header',
    message: 'a header that was sent more than once is not one string',
  } as unknown as string)

function compareLists(left: readonly unknown[], right: readonly unknown[]): void {
  if (left.length !== right.length) return
  for (let i = 0; i < left.length; i++) {
    charge(1)
    chargeComparison(left[i], right[i])
  }
}

type MapLike = ReadonlyMap<unknown, unknown> | Readonly<Record<string, unknown>>

const isMapLike = (value: object): value is MapLike => value instanceof Map || isPlainObject(value)

const entriesOf = (map: MapLike): Iterable<readonly [unknown, unknown]> =>
  map instanceof Map ? (map as ReadonlyMap<unknown, unknown>) : Object.entries(map)

const memberOf = (map: MapLike, key: unknown): unknown =>
  map instanceof Map
    ? (map as ReadonlyMap<unknown, unknown>).get(key)
    : Object.hasOwn(map, String(key))
      ? (map as Readonly<Record<string, unknown>>)[String(key)]
      : undefined

function compareMaps(left: MapLike, right: MapLike): void {
  for (const [key, item] of entriesOf(left)) {
    charge(2)
    const other = memberOf(right, key)
    if (other !== undefined) chargeComparison(item, other)
  }
}

/** Maximum nesting of first elements; the library makes and keeps a type for each way in which they nest. */
const MAX_TYPE_DEPTH = 8

/** @throws CelLimitError for a value whose type is nested too deeply. */
export function assertTypeDepth(value: unknown): void {
  let part = value
  for (let depth = 0; typeof part === 'object' && part !== null; depth++) {
    if (depth > MAX_TYPE_DEPTH) throw new CelLimitError('nested too deeply')
    part = firstPart(part)
  }
}

function firstPart(value: object): unknown {
  if (Array.isArray(value)) return value[0] as unknown
  if (value instanceof Map) return (value as ReadonlyMap<unknown, unknown>).values().next().value
  if (!isPlainObject(value)) return undefined
  for (const key in value) return value[key]
  return undefined
}
