// Looking into JSON: members by name, and an error for every shape that we do not expect.

import type { JsonNode } from './json-node.js'
import { UnreadableForm } from './unreadable-form.js'

export type JsonObjectNode = Extract<JsonNode, { readonly type: 'object' }>
export type JsonArrayNode = Extract<JsonNode, { readonly type: 'array' }>
export type JsonStringNode = Extract<JsonNode, { readonly type: 'string' }>

/** As servers that take no notice of case would compare it. */
export const folded = (name: string): string =>
  PLAIN.test(name) ? name : name.toUpperCase().toLowerCase()

/** Nearly every name there is. */
const PLAIN = /^[a-z0-9_]*$/

/**
 * undefined: it has no such member.
 * @throws UnreadableForm for one that differs in case alone: some servers would take it for this one.
 */
export function member(node: JsonObjectNode, name: string): JsonNode | undefined {
  const plain = folded(name)
  const isOther = (other: string): boolean => other !== name
  if (
    node.unusual?.get(plain)?.some(isOther) === true ||
    (plain !== name && node.members.has(plain))
  )
    throw new UnreadableForm(`a member is spelt otherwise than ${name}`)
  return node.members.get(name)
}

export function asObject(node: JsonNode | undefined, what: string): JsonObjectNode {
  if (node?.type !== 'object') throw new UnreadableForm(`${what} is not an object`)
  return node
}

export function asArray(node: JsonNode | undefined, what: string): JsonArrayNode {
  if (node?.type !== 'array') throw new UnreadableForm(`${what} is not an array`)
  return node
}

export function asString(node: JsonNode | undefined, what: string): JsonStringNode {
  if (node?.type !== 'string') throw new UnreadableForm(`${what} is not a string`)
  return node
}

/** undefined: absent or null. */
export const present = (node: JsonNode | undefined): JsonNode | undefined =>
  node === undefined || node.type === 'null' ? undefined : node
