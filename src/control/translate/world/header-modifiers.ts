// Translates RequestHeaderModifier and ResponseHeaderModifier into header changes.
// Checks names and values, because Envoy would NACK the whole configuration for a bad one.

import { err, ok, type Result } from '../../../kit/result.js'
import { HOPS_HEADER } from '../../../model/hops.js'
import type { Header, HeaderModifier } from '../../../model/route.js'

/** RFC 9110 section 5.6.2, token. */
export const isHeaderName = (name: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)

/**
 * Headers that a filter may not change. Envoy does not treat Host as a header. Connection names headers that the next
 * proxy removes. The hop count ends loops of routes that lead back to the gateway.
 */
const RESERVED: ReadonlySet<string> = new Set(['host', 'connection', HOPS_HEADER])

/** settable: reserved names that `set` may use all the same. */
export function translateHeaderModifier(
  spec: HeaderModifier,
  settable: readonly string[],
): Result<HeaderModifier, string> {
  const set = spec.set.map(({ name }) => name).filter((name) => !settable.includes(lower(name)))
  const others = [...set, ...spec.add.map(({ name }) => name), ...spec.remove]
  const badName = others.find((name) => !isHeaderName(name) || RESERVED.has(lower(name)))
  if (badName !== undefined) return err(`header "${badName}" cannot be changed`)
  const badValue = [...spec.set, ...spec.add].find(({ value }) =>
    /[\u0000-\u0008\u000a-\u001f\u007f]/.test(value),
  )
  if (badValue !== undefined)
    return err(`the value of header "${badValue.name}" has a control character`)
  return ok({
    set: firstOfEach(lowerCase(spec.set)),
    add: lowerCase(spec.add),
    remove: spec.remove.map(lower),
  })
}

/** Keeps the first header of each name (Gateway API, HTTPHeader name). Envoy would set each in turn. */
const firstOfEach = (headers: readonly Header[]): readonly Header[] =>
  headers.filter(({ name }, index) => headers.findIndex((other) => other.name === name) === index)

const lower = (name: string): string => name.toLowerCase()

const lowerCase = (headers: readonly Header[]): readonly Header[] =>
  headers.map(({ name, value }) => ({ name: lower(name), value }))
