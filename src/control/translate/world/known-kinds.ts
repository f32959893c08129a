// Says of a reference to a kind that is not known which one may be meant.

import { similarWord } from '../../../kit/similar.js'

/** A kind with its group; "" is the core group. */
export interface GroupKind {
  readonly group: string
  readonly kind: string
}

/** Returns "; did you mean …?" where a known kind is spelt alike, also in another group; else "". */
export function kindMeant({ kind }: GroupKind, known: readonly GroupKind[]): string {
  const near = similarWord(
    kind,
    known.map((one) => one.kind),
  )
  const meant = known.find((one) => one.kind === near)
  return meant === undefined ? '' : `; did you mean kind ${meant.kind} of group "${meant.group}"?`
}

/** Returns the kinds that a backend may have. apiGroup: the group of ProxyBackend. */
export const backendKinds = (apiGroup: string): readonly GroupKind[] => [
  { group: '', kind: 'Service' },
  { group: apiGroup, kind: 'ProxyBackend' },
]
