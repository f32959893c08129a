// Finds reasons why routes cannot be protected in an Istio mesh.

import { isListenerSet, type MeshRoute } from '../../../../model/mesh-route.js'
import type { ExportProblem } from '../manifest.js'
import { isSealable } from '../sealed-routes.js'
import { pathProblems } from './authz.js'
import type { FilterOptions } from './envoy-filter.js'
import { documentsNames, namedRules } from './named-rules.js'
import { istioRouteName } from './names.js'

/** An HTTPRoute as written, protected or not. */
export interface KnownRoute {
  readonly metadata: { readonly namespace: string; readonly name: string }
  readonly spec: {
    readonly parentRefs: readonly { readonly namespace?: string; readonly name: string }[]
    readonly rules: readonly { readonly name?: string }[]
  }
}

/** known: every HTTPRoute. */
export const problemsOf = (
  routes: readonly MeshRoute[],
  known: readonly KnownRoute[],
  options: Pick<FilterOptions, 'isSealed' | 'customProvider'>,
): readonly ExportProblem[] => [
  ...routes.flatMap((route) => ownProblems(route, options)),
  ...sameNames(routes, known, options.isSealed),
]

/** Reasons of the route itself. */
export function ownProblems(
  route: MeshRoute,
  { isSealed, customProvider }: Pick<FilterOptions, 'isSealed' | 'customProvider'>,
): readonly ExportProblem[] {
  const { namespace, name, source, problems, gateways, parents, sealing } = route
  const all = [
    ...problems,
    ...(isSealed ? sealing.problems.map((problem) => `it cannot be sealed: ${problem}`) : []),
    ...(customProvider === undefined ? [] : pathProblems(route)),
    ...(gateways.length === 0 && problems.length === 0 ? ['no Gateway takes it'] : []),
    ...parents
      .filter((parent) => parent.kind !== 'Gateway' && !isListenerSet(parent))
      .map((parent) => `${parent.kind} ${parent.name} is its parent too: ${BY_SIDECARS}`),
  ]
  return [...new Set(all)].map((problem) => ({
    source,
    message: `HTTPRoute ${namespace}/${name}: ${problem}`,
  }))
}

const BY_SIDECARS =
  'its requests do not pass a Gateway, and would not be checked; give that parent a route of its own'

/** A name of Envoy routes, and where it occurs. */
interface Occurrence {
  readonly name: string
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** NAMESPACE/NAME of its Gateways. */
  readonly gateways: readonly string[]
}

/**
 * Finds names of Envoy routes that another HTTPRoute of the same Gateway has too. A patch would be applied to both: one
 * of them would be checked by the policy of the other, or closed.
 */
function sameNames(
  routes: readonly MeshRoute[],
  known: readonly KnownRoute[],
  isSealed: boolean,
): readonly ExportProblem[] {
  const own = routes.flatMap((route) => exportedNames(route, isSealed))
  const exported = new Set(
    routes.flatMap(({ namespace, name, documents }) =>
      [name, ...(documents === undefined ? [] : [documents.route])].map(
        (each) => `${namespace}/${each}`,
      ),
    ),
  )
  const others = known.flatMap(namesOf).filter(({ route }) => !exported.has(route))
  return own.flatMap(({ source, ...one }) =>
    [...own, ...others]
      .filter((other) => other.route !== one.route && collide(one, other))
      .map((other) => ({
        source,
        message: `HTTPRoute ${one.route}: Istio names a rule of it and one of HTTPRoute ${other.route} "${one.name}", and Gatehouse could not tell them apart: expected rules without a name, or other names`,
      })),
  )
}

const collide = (one: Occurrence, other: Occurrence): boolean =>
  one.name === other.name && one.gateways.some((gateway) => other.gateways.includes(gateway))

/** Names of a protected HTTPRoute and of its documents, as they will be in the mesh. */
const exportedNames = (
  route: MeshRoute,
  isSealed: boolean,
): readonly (Occurrence & { readonly source: string })[] =>
  [
    ...namedRules(route, isSealed && isSealable(route)).map(({ name }) => name),
    ...documentsNames(route),
  ].map((name) => ({
    name,
    route: `${route.namespace}/${route.name}`,
    gateways: route.gateways.map((gateway) => `${gateway.namespace}/${gateway.name}`),
    source: route.source,
  }))

const namesOf = ({ metadata: { namespace, name }, spec }: KnownRoute): readonly Occurrence[] =>
  spec.rules.map((rule, index) => ({
    name: istioRouteName(namespace, name, index, rule.name),
    route: `${namespace}/${name}`,
    gateways: spec.parentRefs.map((parent) => `${parent.namespace ?? namespace}/${parent.name}`),
  }))
