// Functions that extend the library's. All are synchronous.

import { BlockList, isIP } from 'node:net'
import type { Environment, RegisteredFunctionHandler } from '@marcbachmann/cel-js'
import { charge } from './budget.js'
import { callCost } from './costs/function-costs.js'
import { textSteps } from './costs/value-costs.js'
import { parseJsonText } from './json-text.js'
import { matchesComputedPattern } from './patterns.js'
import { fromCelValue } from './values.js'

// Implements cidr("10.0.0.0/8").containsIP(address), for IPv4 and IPv6.

/** Whether the text is an IP address. */
const isIp = (text: string): boolean => isIP(text) !== 0

const family = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6')

/** A network. */
class Cidr {
  readonly #range = new BlockList()

  /** @throws when text is not ADDRESS/BITS. */
  constructor(text: string) {
    const [address = '', bits = '', ...rest] = text.split('/')
    if (!isIp(address) || !/^\d{1,3}$/.test(bits) || rest.length > 0) throw new Error('not a CIDR')
    this.#range.addSubnet(address, Number(bits), family(address))
  }

  /** @throws when address is not an IP address. */
  contains(address: string): boolean {
    if (!isIp(address)) throw new Error('not an IP address')
    return this.#range.check(address, family(address))
  }
}

/** Receiver type of base64.encode() and base64.decode(). */
class Base64Namespace {}

type Functions = Readonly<Record<string, RegisteredFunctionHandler>>

/** Changes the case of ASCII letters alone. */
export const asciiLower = (text: string): string => text.replace(/[A-Z]+/g, (c) => c.toLowerCase())
/** Changes the case of ASCII letters alone. */
export const asciiUpper = (text: string): string => text.replace(/[a-z]+/g, (c) => c.toUpperCase())

const STRINGS: Functions = {
  'matches(string, string): bool': matchesComputedPattern,
  'string.replace(string, string): string': (text: string, from: string, to: string) =>
    replace(text, from, to, -1n),
  'string.replace(string, string, int): string': replace,
  'string.charAt(int): string': charAt,
  'string.stripPrefix(string): string': (text: string, prefix: string) =>
    text.startsWith(prefix) ? text.slice(prefix.length) : text,
  'string.stripSuffix(string): string': (text: string, suffix: string) =>
    suffix !== '' && text.endsWith(suffix) ? text.slice(0, -suffix.length) : text,
}

function replace(text: string, from: string, to: string, limit: bigint): string {
  callCost('split')([text, from])
  const parts = from === '' ? ['', ...text, ''] : text.split(from)
  const count = limit < 0n ? parts.length - 1 : Math.min(Number(limit), parts.length - 1)
  const length = text.length + count * to.length
  charge(text.length / 4 + textSteps(length), length * 2)
  const replaced = parts.slice(0, count + 1).join(to)
  const rest = parts.slice(count + 1)
  return rest.length === 0 ? replaced : replaced + from + rest.join(from)
}

function charAt(text: string, index: bigint): string {
  charge(text.length / 2)
  let place = 0n
  for (const point of text) if (place++ === index) return point
  if (index !== place) throw new Error('index out of range')
  return ''
}

const encodeText = (text: string): string => Buffer.from(text, 'utf8').toString('base64')
const encodeBytes = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

function decodeBase64(text: string): Uint8Array {
  const [, digits] = /^([A-Za-z0-9+/]*)={0,2}$/.exec(text) ?? []
  if (digits === undefined || digits.length % 4 === 1) throw new Error('not base64')
  return new Uint8Array(Buffer.from(text, 'base64'))
}

const BASE64: Functions = {
  'base64.encode(string): string': (_: unknown, text: string) => encodeText(text),
  'base64.encode(bytes): string': (_: unknown, bytes: Uint8Array) => encodeBytes(bytes),
  'base64.decode(string): bytes': (_: unknown, text: string) => decodeBase64(text),
  'base64Encode(string): string': encodeText,
  'base64Encode(bytes): string': encodeBytes,
  'base64Decode(string): bytes': decodeBase64,
}

interface Duration {
  readonly seconds: bigint
  readonly nanos: number
}

/** Replaces the library's own text, for which ICU formats a number, and which is wrong below zero. */
function durationText({ seconds, nanos }: Duration): string {
  const all = seconds * 1_000_000_000n + BigInt(nanos)
  const digits = String(all < 0n ? -all : all).padStart(10, '0')
  let end = digits.length
  while (end > digits.length - 9 && digits[end - 1] === '0') end -= 1
  const fraction = digits.slice(-9, end)
  const whole = `${all < 0n ? '-' : ''}${digits.slice(0, -9)}`
  return `${whole}${fraction === '' ? '' : `.${fraction}`}s`
}

const CONVERSIONS: Functions = {
  'json(string): dyn': parseJsonText,
  'json(bytes): dyn': (bytes: Uint8Array) => parseJsonText(Buffer.from(bytes).toString('utf8')),
  'toJson(dyn): string': (value: unknown) => JSON.stringify(fromCelValue(value)),
  'string(google.protobuf.Timestamp): string': (time: Date) =>
    time.toISOString().replace('.000Z', 'Z'),
  'string(google.protobuf.Duration): string': durationText,
  'int(google.protobuf.Timestamp): int': (time: Date) => BigInt(Math.floor(time.getTime() / 1000)),
  'int(uint): int': (value: { valueOf(): bigint }) => value.valueOf(),
}

/** Known to the type check alone: plan.ts evaluates default(), and compile.ts says what _as() is. */
const MACROS: Functions = {
  'default(dyn, dyn): dyn': () => undefined,
  '_as(dyn): bool': () => undefined,
}

const ADDRESSES: Functions = {
  'cidr(string): Cidr': (text: string) => new Cidr(text),
  'Cidr.containsIP(string): bool': (range: Cidr, address: string) => range.contains(address),
  'isIP(string): bool': isIp,
}

/** Adds the functions to an environment. */
export function registerFunctions(environment: Environment): void {
  environment
    .registerType('base64', Base64Namespace)
    .registerConstant('base64', 'base64', new Base64Namespace())
    .registerType('Cidr', Cidr)
  for (const functions of [STRINGS, BASE64, CONVERSIONS, ADDRESSES, MACROS])
    for (const [signature, handler] of Object.entries(functions))
      environment.registerFunction(signature, handler, { async: false })
}
