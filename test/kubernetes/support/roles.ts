// The chart's roles, complete or without one permission, bound to a test user instead of a service account.

import type { AnyObject } from '../../../testing/api-call.js'
import { render } from './chart.js'

export type Values = Readonly<Record<string, unknown>>

/** The verbs that a rule allows on one resource. */
export interface Permission {
  readonly group: string
  /** The plural name, with a subresource after a slash. */
  readonly resource: string
  readonly verbs: readonly string[]
}

export interface Missing {
  readonly permission: Permission
  readonly verb: string
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

type Role = AnyObject & { readonly rules: readonly Rule[] }
type Binding = AnyObject & { readonly roleRef: { readonly name: string } }

const known = new Map<string, readonly AnyObject[]>()

/** The chart's objects by values, cached because helm is slow. */
export function rendered(values: Values): readonly AnyObject[] {
  const key = JSON.stringify(values)
  const objects = known.get(key) ?? render(values)
  known.set(key, objects)
  return objects
}

/** @param kinds kinds of roles to include. */
export const permissionsOf = (values: Values, kinds = ['ClusterRole', 'Role']): Permission[] =>
  rendered(values)
    .filter(({ kind }) => kinds.includes(kind))
    .flatMap((role) => (role as Role).rules)
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.map((resource) => ({ group, resource, verbs }))),
    )

/** Returns the roles and bindings of a user, with names unique to that user. */
export const rolesFor = (user: string, values: Values, without?: Missing): readonly AnyObject[] =>
  rendered(values).flatMap((object): AnyObject[] => {
    const metadata = { ...object.metadata, name: `${object.metadata.name ?? ''}-${user}` }
    if (object.kind.endsWith('RoleBinding')) {
      const { roleRef } = object as Binding
      const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }]
      const own = { ...roleRef, name: `${roleRef.name}-${user}` }
      return [{ ...object, metadata, roleRef: own, subjects } as AnyObject]
    }
    if (!object.kind.endsWith('Role')) return []
    const rules = (object as Role).rules.flatMap((rule) => rulesWithout(rule, without))
    return [{ ...object, metadata, rules } as AnyObject]
  })

function rulesWithout(rule: Rule, without: Missing | undefined): readonly Rule[] {
  if (without === undefined || !rule.apiGroups.includes(without.permission.group)) return [rule]
  const { resource } = without.permission
  const others = rule.resources.filter((each) => each !== resource)
  const verbs = rule.verbs.filter((each) => each !== without.verb)
  return [
    { ...rule, resources: others },
    ...(rule.resources.includes(resource) ? [{ ...rule, resources: [resource], verbs }] : []),
  ].filter((each) => each.resources.length > 0 && each.verbs.length > 0)
}
