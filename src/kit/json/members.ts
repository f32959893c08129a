// Looks up members of JSON objects by name, and throws for every unexpected shape.

import type { JsonNode } from './json-node.js'
import { UnreadableForm } from './unreadable-form.js'

/** A JSON object. */
export type JsonObjectNode = Extract<JsonNode, { readonly type: 'object' }>
/** A JSON array. */
export type JsonArrayNode = Extract<JsonNode, { readonly type: 'array' }>
/** A JSON string. */
export type JsonStringNode = Extract<JsonNode, { readonly type: 'string' }>

/** Folds a name to what servers compare that ignore case, end a text at a NUL, or drop half characters. */
export const folded = (name: string): string =>
  isPlain(name) ? name : whole(name).toUpperCase().toLowerCase()

const whole = (name: string): string => (name.split('\0', 1)[0] ?? '').replace(HALF_CHARACTERS, '')

const HALF_CHARACTERS = /\p{Surrogate}/gu

/**
 * Whether no reader ends the text early, or drops or replaces a part of it. Searched by V8 itself: a pattern takes 40 ms for
 * the pairs of surrogates in 10 MB.
 */
export const isExact = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** Whether a name has only a-z, 0-9 and _, as nearly all have. A loop, because a pattern takes longer to start. */
function isPlain(name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    const isLetter = code >= 0x61 && code <= 0x7a
    if (!isLetter && !(code >= 0x30 && code <= 0x39) && code !== 0x5f) return false
  }
  return true
}

/**
 * Returns a member; undefined: absent.
 * @throws UnreadableForm for a name that differs but folds to the same, because some servers would accept it as this one.
 */
export function member(node: JsonObjectNode, name: string): JsonNode | undefined {
  const plain = folded(name)
  const isSpeltOtherwise = plain !== name && node.members.has(plain)
  if (isSpeltOtherwise || node.unusual?.get(plain)?.some((other) => other !== name) === true)
    throw new UnreadableForm(`a member is spelt otherwise than ${name}`)
  return node.members.get(name)
}

/** Returns the node as an object. what: its name, for the error. */
export function asObject(node: JsonNode | undefined, what: string): JsonObjectNode {
  if (node?.type !== 'object') throw new UnreadableForm(`${what} is not an object`)
  return node
}

/** Returns the node as an array. what: its name, for the error. */
export function asArray(node: JsonNode | undefined, what: string): JsonArrayNode {
  if (node?.type !== 'array') throw new UnreadableForm(`${what} is not an array`)
  return node
}

/** Returns the node as a string. what: its name, for the error. */
export function asString(node: JsonNode | undefined, what: string): JsonStringNode {
  if (node?.type !== 'string') throw new UnreadableForm(`${what} is not a string`)
  return node
}

/** undefined: absent or null. */
export const present = (node: JsonNode | undefined): JsonNode | undefined =>
  node === undefined || node.type === 'null' ? undefined : node
