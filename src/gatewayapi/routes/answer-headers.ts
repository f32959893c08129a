// Combines the answer headers that filters of an HTTPRoute change with those that a policy removes. The policy wins.

import type { HeaderModifier } from '../../ir/route.js'

/** Returns undefined if no header changes. */
export function answerHeaders(
  modifier: HeaderModifier | undefined,
  removed: readonly string[],
): HeaderModifier | undefined {
  if (removed.length === 0) return modifier
  const { set = [], add = [], remove = [] } = modifier ?? {}
  // Envoy removes headers before it sets others.
  const isKept = ({ name }: { readonly name: string }): boolean => !removed.includes(name)
  return {
    set: set.filter(isKept),
    add: add.filter(isKept),
    remove: [...new Set([...remove, ...removed])],
  }
}
