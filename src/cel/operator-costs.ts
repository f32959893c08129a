// Charges for operators beyond the step of their node, by what they compare, copy or hash.

import { charge } from './budget.js'
import { isRepeatedHeader } from './repeated-headers.js'
import {
  assertTypeDepth,
  CHARACTERS_PER_STEP,
  chargeComparison,
  chargeWhole,
  repeatedHeader,
} from './value-costs.js'

/** Charges for an operator. @throws when too little is left, or a repeated header is compared with a string. */
export function chargeBinary(operator: string, left: unknown, right: unknown): void {
  if (operator === '==' || operator === '!=') {
    chargeComparison(left, right)
    if (left === null || right === null) return
  } else if (operator === 'in') chargeMembership(left, right)
  else if (operator === '+') chargeSum(left, right)
  else if (typeof left === 'string') charge(left.length / CHARACTERS_PER_STEP)
  assertTypeDepth(left)
  assertTypeDepth(right)
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
