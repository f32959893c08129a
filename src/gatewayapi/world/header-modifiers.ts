// RequestHeaderModifier and ResponseHeaderModifier → header changes. Envoy would refuse the whole configuration for a bad name or value.

import { HOPS_HEADER } from '../../ir/hops.js'
import type { Header, HeaderModifier } from '../../ir/route.js'
import { err, ok, type Result } from '../../result.js'

/** RFC 9110 section 5.6.2, token. */
export const isHeaderName = (name: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)

/**
 * Host is no header to Envoy. Connection names headers that the next proxy takes away, and hops are counted so that a route
 * which leads back to the gateway comes to an end.
 */
const RESERVED: ReadonlySet<string> = new Set(['host', 'connection', HOPS_HEADER])

/** settable: names among those that Envoy does not treat as headers which it can set all the same. */
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

/** Gateway API, HTTPHeader name: of equivalent names the first counts. Envoy would set them in turn. */
const firstOfEach = (headers: readonly Header[]): readonly Header[] =>
  headers.filter(({ name }, index) => headers.findIndex((other) => other.name === name) === index)

const lower = (name: string): string => name.toLowerCase()

const lowerCase = (headers: readonly Header[]): readonly Header[] =>
  headers.map(({ name, value }) => ({ name: lower(name), value }))
