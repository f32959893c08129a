// JSON text of the values that a property failed for. Beyond JSON it writes bytes, undefined, bigints, and the numbers that
// JSON lacks, each as an object with one member, whose name begins with $.

import { isDeepStrictEqual } from 'node:util'

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null

function encoded(value: unknown): unknown {
  if (value === undefined) return { $undefined: true }
  if (typeof value === 'bigint') return { $bigint: String(value) }
  if (typeof value === 'number' && (!Number.isFinite(value) || Object.is(value, -0)))
    return { $number: Object.is(value, -0) ? '-0' : String(value) }
  if (Buffer.isBuffer(value)) return { $buffer: value.toString('base64') }
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') }
  if (Array.isArray(value)) return value.map(encoded)
  return isObject(value) ? mapMembers(value, encoded) : value
}

const DECODERS = new Map<string, (text: string) => unknown>([
  ['$undefined', () => undefined],
  ['$bigint', BigInt],
  ['$number', Number],
  ['$buffer', (text) => Buffer.from(text, 'base64')],
  ['$bytes', (text) => new Uint8Array(Buffer.from(text, 'base64'))],
])

function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded)
  if (!isObject(value)) return value
  const [[name = '', text] = []] = Object.entries(value)
  const decode = Object.keys(value).length === 1 ? DECODERS.get(name) : undefined
  return decode === undefined ? mapMembers(value, decoded) : decode(String(text))
}

/** Returns a plain object. Its members are its own, even one with the name __proto__. */
const mapMembers = (value: Members, map: (value: unknown) => unknown): Members =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, map(member)]))

/** Returns a copy in which objects without a prototype, as fast-check makes them, are plain ones. */
function withPrototypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPrototypes)
  if (!isObject(value)) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
    ? mapMembers(value, withPrototypes)
    : value
}

/** Returns the JSON form of a value; undefined if what is read back would be another value. */
export function toKept(value: unknown): unknown {
  try {
    const kept: unknown = JSON.parse(JSON.stringify(encoded(value)))
    return isDeepStrictEqual(fromKept(kept), withPrototypes(value)) ? kept : undefined
  } catch {
    // Such as a cycle.
    return undefined
  }
}

/** Returns the value of a JSON form. */
export const fromKept = (kept: unknown): unknown => decoded(kept)
