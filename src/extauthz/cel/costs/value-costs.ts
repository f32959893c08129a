// Charges for work on a whole value: each value in it is visited and charged at most as often as that work visits it.
// Values may share parts (cel.bind), so memory does not bound their size.

import { charge } from '../budget.js'
import { isMapValue, mapEntries, type MapValue } from '../collections.js'
import { evaluationError } from '../expression-error.js'
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
  else if (isMapValue(value))
    for (const [key, item] of mapEntries(value)) {
      chargeWhole(key, bytesPerCharacter)
      chargeWhole(item, bytesPerCharacter)
    }
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
  else if (isMapValue(left) && isMapValue(right)) compareMaps(mapEntries(left), right)
}

function assertNoText(left: unknown, right: unknown): void {
  if (typeof left === 'string' || typeof right === 'string') throw repeatedHeader()
}

/** Returns the error of work on a repeated header, which is not one string. */
export const repeatedHeader = (): Error => evaluationError('repeated_header')

function compareLists(left: readonly unknown[], right: readonly unknown[]): void {
  if (left.length !== right.length) return
  for (let i = 0; i < left.length; i++) {
    charge(1)
    chargeComparison(left[i], right[i])
  }
}

function compareMaps(left: ReadonlyMap<unknown, unknown>, right: MapValue): void {
  for (const [key, item] of left) {
    charge(2)
    const other = valueAt(right, key)
    if (other !== undefined) chargeComparison(item, other)
  }
}

const valueAt = (map: MapValue, key: unknown): unknown =>
  map instanceof Map
    ? (map as ReadonlyMap<unknown, unknown>).get(key)
    : Object.getOwnPropertyDescriptor(map, String(key))?.value

/**
 * Maximum nesting of first elements, of all operands together: the library makes and keeps a type for each way in which
 * they nest, and an overload for each pair of such types.
 */
const MAX_TYPE_DEPTH = 9

/**
 * Counts the nesting of an operand on top of that of the operands before it.
 * @returns the sum.
 * @throws CelLimitError if their types are together nested too deeply.
 */
export function assertTypeDepth(operand: unknown, before = 0): number {
  let depth = before
  for (let part = operand; typeof part === 'object' && part !== null; part = firstPart(part)) {
    depth++
    if (depth > MAX_TYPE_DEPTH) throw new CelLimitError('nested too deeply')
  }
  return depth
}

function firstPart(value: object): unknown {
  if (Array.isArray(value)) return value[0] as unknown
  if (value instanceof Map) return (value as ReadonlyMap<unknown, unknown>).values().next().value
  if (isMapValue(value))
    for (const key in value) return (value as Readonly<Record<string, unknown>>)[key]
  return undefined
}
