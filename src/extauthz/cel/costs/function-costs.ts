// Charges for calls, by function name, beyond the step of the node: steps for what they read, bytes for what they make.
// Charges the worst case before the call; replace() and matches() do their own counting.

import { charge } from '../budget.js'
import { isRepeatedHeader } from '../repeated-headers.js'
import { CelLimitError } from '../values.js'
import { chargeWhole, repeatedHeader, textSteps } from './value-costs.js'

type Cost = (values: readonly unknown[]) => void

/** Returns what charges for calls of a function, given its operands: for a method, the receiver first. */
export const callCost = (name: string): Cost => COSTS.get(name) ?? whole

const whole: Cost = (values) => {
  for (const value of values) chargeWhole(value, 64)
}

/** Whether the costs of a function are known. */
export const knowsCost = (name: string): boolean => COSTS.has(name)

const free: Cost = () => undefined
const fixed =
  (steps: number): Cost =>
  () =>
    charge(steps)

const lengthOf = (value: unknown): number =>
  typeof value === 'string' || value instanceof Uint8Array || Array.isArray(value)
    ? value.length
    : 0

/** Charges by the length of the first value: perStep characters or bytes per step, and made bytes for each of them. */
const linear =
  (perStep: number, made = 0): Cost =>
  ([value]) => {
    const length = lengthOf(value)
    charge(length / perStep, length * made)
  }

/** Worst case of the engine's search: every position times every character of what is searched for. */
const search: Cost = ([text, part]) => {
  const [n, m] = [lengthOf(text), lengthOf(part)]
  charge(n / 20 + (n * m) / 150)
}

const affix: Cost = ([text, part]) => charge((lengthOf(text) + lengthOf(part)) / 64)

/** Rejects a repeated header: its size would be the number of its values, which a rule would take for a length. */
const size: Cost = ([value]) => {
  if (isRepeatedHeader(value)) throw repeatedHeader()
  if (typeof value === 'string') charge(value.length / 8)
  else if (typeof value === 'object' && value !== null && !(value instanceof Map))
    charge(Array.isArray(value) || value instanceof Uint8Array ? 0 : Object.keys(value).length / 4)
}

const split: Cost = (values) => {
  search(values)
  const parts = lengthOf(values[0]) / Math.max(1, lengthOf(values[1])) + 1
  charge(parts / 2, parts * 32)
}

const join: Cost = ([list, separator]) => {
  if (!Array.isArray(list)) return
  charge(list.length / 4)
  let length = list.length * lengthOf(separator)
  for (const item of list as readonly unknown[]) length += lengthOf(item)
  charge(textSteps(length), length * 2)
}

/** Charges more if a zone is given, as ICU then makes the dates. */
const inZone: Cost = (values) => charge(values.length > 1 ? 2000 : 1)

/** Limits the text, since the library takes cubic time to read digits without a unit after them. */
const duration: Cost = ([text]) => {
  if (typeof text !== 'string') return
  if (text.length > 100 || /[\d.]{31}/.test(text)) throw new CelLimitError('duration too long')
  charge(10 + text.length * 10)
}

/** Charges for copying the value, then for writing it. The JSON of a repeated header would never equal that of a string. */
const toJson: Cost = ([value]) => {
  if (isRepeatedHeader(value)) throw repeatedHeader()
  chargeWhole(value, 1)
  chargeWhole(value, 1)
  chargeWhole(value)
}

/** Every two characters can be a value. */
const parse = linear(1, 64)

const COSTS: ReadonlyMap<string, Cost> = new Map<string, Cost>([
  ...['dyn', 'type', 'hasValue', 'value', 'none', 'of', 'at', 'substring', 'replace'].map(
    (name) => [name, free] as const,
  ),
  ...['matches', 'charAt'].map((name) => [name, free] as const),
  ['size', size],
  ...['bool', 'int', 'uint', 'double'].map((name) => [name, linear(16)] as const),
  ['bytes', linear(32, 3)],
  ['string', ([value]) => charge(5 + lengthOf(value) / 16, lengthOf(value) * 2)],
  ...['startsWith', 'endsWith', 'stripPrefix', 'stripSuffix'].map((name) => [name, affix] as const),
  ...['contains', 'indexOf', 'lastIndexOf'].map((name) => [name, search] as const),
  ...['lowerAscii', 'upperAscii'].map((name) => [name, linear(1, 2)] as const),
  ['trim', linear(16)],
  ['split', split],
  ['join', join],
  ['json', parse],
  ['toJson', toJson],
  ['hex', linear(16, 2)],
  ...['base64', 'encode', 'decode', 'base64Encode', 'base64Decode'].map(
    (name) => [name, (values: readonly unknown[]) => linear(16, 2)(values.slice(-1))] as const,
  ),
  ['timestamp', fixed(10)],
  ['duration', duration],
  ...[
    'getDate',
    'getDayOfMonth',
    'getDayOfWeek',
    'getDayOfYear',
    'getFullYear',
    'getHours',
    'getMilliseconds',
    'getMinutes',
    'getMonth',
    'getSeconds',
  ].map((name) => [name, inZone] as const),
  ['cidr', fixed(100)],
  ['containsIP', fixed(40)],
  ['isIP', ([text]) => charge(8 + lengthOf(text) / 16)],
])
