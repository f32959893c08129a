// What filters of an HTTPRoute change of answers, and what a transformation removes from them: the policy comes last.

import type { HeaderModifier } from '../../ir/route.js'

/** undefined: nothing changes. */
export function answerHeaders(
  modifier: HeaderModifier | undefined,
  removed: readonly string[],
): HeaderModifier | undefined {
  if (removed.length === 0) return modifier
  const { set = [], add = [], remove = [] } = modifier ?? {}
  // Envoy removes first and sets afterwards.
  const isKept = ({ name }: { readonly name: string }): boolean => !removed.includes(name)
  return {
    set: set.filter(isKept),
    add: add.filter(isKept),
    remove: [...new Set([...remove, ...removed])],
  }
}
