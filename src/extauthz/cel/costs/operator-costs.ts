// Charges for operators beyond the step of their node, by what they compare, copy or hash.

import { charge } from '../budget.js'
import { evaluationError } from '../expression-error.js'
import { isRepeatedHeader } from '../repeated-headers.js'
import {
  assertTypeDepth,
  CHARACTERS_PER_STEP,
  chargeComparison,
  chargeWhole,
  repeatedHeader,
} from './value-costs.js'

/** Charges for an operator. @throws when too little is left, or a repeated header is compared with a string. */
export function chargeBinary(operator: string, left: unknown, right: unknown): void {
  if (operator === '==' || operator === '!=') chargeComparison(left, right)
  else if (operator === 'in') chargeMembership(left, right)
  else if (operator === '+') chargeSum(left, right)
  else if (typeof left === 'string') charge(left.length / CHARACTERS_PER_STEP)
  assertTypeDepth(right, assertTypeDepth(left))
}

function chargeMembership(value: unknown, collection: unknown): void {
  if (Array.isArray(collection)) {
    charge(collection.length / 2)
    for (const item of collection as readonly unknown[]) chargeComparison(value, item)
  } else chargeIndex(value)
}

function chargeSum(left: unknown, right: unknown): void {
  if (typeof left === 'string' && typeof right === 'string') {
    const length = left.length + right.length
    charge(length / CHARACTERS_PER_STEP, 32 + length * 2)
  } else if (Array.isArray(left) && Array.isArray(right)) {
    const length = left.length + right.length
    charge(length / 8, 32 + length * 8)
  } else if (left instanceof Uint8Array && right instanceof Uint8Array) {
    const length = left.length + right.length
    charge(length / CHARACTERS_PER_STEP, 100 + length)
  }
}

/** Charges for a map key or list index: it is hashed, or shown in the message that nothing is there. */
export function chargeIndex(index: unknown): void {
  if (isRepeatedHeader(index)) throw repeatedHeader()
  if (typeof index === 'string') charge(index.length / CHARACTERS_PER_STEP)
  else if (typeof index === 'object') chargeWhole(index)
}

/**
 * Charges for a key of a map literal. @throws EvaluationError for one that is no bool, number or string: the library
 * would turn it into text, a list with all that is in it.
 */
export function chargeKey(key: unknown): void {
  if (isRepeatedHeader(key)) throw repeatedHeader()
  if (typeof key === 'string') charge(key.length / CHARACTERS_PER_STEP)
  else if (!isKey(key)) throw evaluationError('invalid_map_key')
}

/** Whether a value can be the key of a map: an unsigned integer is an object around a bigint. */
export const isKey = (value: unknown): boolean =>
  typeof value === 'object'
    ? typeof value?.valueOf() === 'bigint'
    : ['string', 'boolean', 'bigint', 'number'].includes(typeof value)
