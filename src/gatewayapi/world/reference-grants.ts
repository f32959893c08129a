// Checks references across namespaces: they need a ReferenceGrant (decision 26).

import type { Context } from './context.js'

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
  const grants = context.reader.read('referenceGrants', to.namespace) ?? []
  return grants.some(
    ({ spec }) =>
      spec.from.some(
        ({ group, kind, namespace }) =>
          group === from.group && kind === from.kind && namespace === from.namespace,
      ) &&
      spec.to.some(
        ({ group, kind, name }) =>
          group === to.group && kind === to.kind && (name === undefined || name === to.name),
      ),
  )
}

/** Returns the sentence about a missing ReferenceGrant. */
export const missingGrant = (from: Referrer, to: Referent): string =>
  `${to.kind} ${to.namespace}/${to.name} may not be referred to by a ${from.kind} of namespace ${from.namespace}: a ReferenceGrant in ${to.namespace} is missing`
