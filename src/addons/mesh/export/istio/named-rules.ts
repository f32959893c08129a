// Gives the rules of a protected HTTPRoute the names of their Envoy routes, as they are in the mesh.

import { type MeshRoute, type MeshRule, pathsByRule } from '../../../../model/mesh-route.js'
import { istioRouteName } from './names.js'

/** A rule of the HTTPRoute in the mesh. */
export interface NamedRule {
  /** Name of its Envoy routes. */
  readonly name: string
  /** The rule as its author wrote it. */
  readonly rule: MeshRule
}

/**
 * Returns the rules in the mesh, one for each name; a sealed route has two for each: one without a name, and one with the
 * author's.
 */
export function namedRules(route: MeshRoute, isSealed: boolean): readonly NamedRule[] {
  const all = route.rules.flatMap((rule, index) => {
    const named = (at: number, name?: string): NamedRule => ({
      name: istioRouteName(route.namespace, route.name, at, name),
      rule,
    })
    return isSealed
      ? [named(2 * index), named(2 * index + 1, rule.name)]
      : [named(index, rule.name)]
  })
  return all.filter(({ name }, at) => all.findIndex((other) => other.name === name) === at)
}

/** Name of the Envoy routes of a rule that may be added at the end, without a name. */
export const spareName = ({ namespace, name, rules }: MeshRoute): string =>
  istioRouteName(namespace, name, rules.length, undefined)

/** Names of the Envoy routes of the documents' HTTPRoute: that of the documents, and that of a relay's pages. */
export const documentsNames = ({ namespace, documents }: MeshRoute): readonly string[] =>
  documents === undefined
    ? []
    : pathsByRule(documents).map((_, index) =>
        istioRouteName(namespace, documents.route, index, undefined),
      )

/** Names of all Envoy routes that the patches of a route find while it is not sealed, the spare one included. */
export const patchedNames = (route: MeshRoute): readonly string[] => [
  ...new Set([
    ...namedRules(route, false).map(({ name }) => name),
    spareName(route),
    ...documentsNames(route),
  ]),
]
