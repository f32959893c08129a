// Checks references across namespaces: they need a ReferenceGrant (decision 26).

import { type Context, query } from './context.js'

/** The resource that refers to another one. */
export interface Referrer {
  readonly group: string
  readonly kind: string
  readonly namespace: string
}

/** The resource that is referred to. */
export interface Referent extends Referrer {
  readonly name: string
}

/** Whether a reference stays in its namespace or has a ReferenceGrant. */
export function isReferencePermitted(context: Context, from: Referrer, to: Referent): boolean {
  if (from.namespace === to.namespace) return true
  const granted = grantsOf(context, to.namespace).get(keyOfFrom(from))
  return granted?.has(keyOfTo(to)) === true || granted?.has(keyOfTo({ ...to, name: '' })) === true
}

/** What each referrer may refer to in a namespace; keyOfTo() without a name stands for any. */
type Grants = ReadonlyMap<string, ReadonlySet<string>>

const grantsOf = (context: Context, namespace: string): Grants =>
  query(context, 'grants', namespace, ({ reader }) => {
    const grants = new Map<string, Set<string>>()
    for (const { spec } of reader.read('referenceGrants', namespace) ?? []) {
      const to = spec.to.map(({ group, kind, name = '' }) => keyOfTo({ group, kind, name }))
      for (const from of new Set(spec.from.map(keyOfFrom))) {
        const known = grants.get(from) ?? new Set()
        grants.set(from, known)
        for (const key of to) known.add(key)
      }
    }
    return grants
  })

const keyOfFrom = ({ group, kind, namespace }: Referrer): string => `${group} ${kind} ${namespace}`
const keyOfTo = ({ group, kind, name }: Omit<Referent, 'namespace'>): string =>
  `${group} ${kind} ${name}`

/** Returns the sentence about a missing ReferenceGrant. */
export const missingGrant = (from: Referrer, to: Referent): string =>
  `${to.kind} ${to.namespace}/${to.name} may not be referred to by a ${from.kind} of namespace ${from.namespace}: a ReferenceGrant in ${to.namespace} is missing`
