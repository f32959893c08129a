// The protected HTTPRoutes of an Envoy Gateway → the manifests by which its Envoys ask Gatehouse about them, or why some of
// them cannot be protected: then there are no manifests at all, as part of them would leave routes open.

import { compareText } from '../../incremental/sorted-list.js'
import type { MeshRoute } from '../../ir/mesh-route.js'
import { err, ok, type Result } from '../../result.js'
import type { ExportProblem, ExportTargets, Manifest } from '../manifest.js'
import { backends } from './backends.js'
import { documentsManifests } from './documents.js'
import { extensionPolicy } from './extension-policy.js'
import { sealedRoute, sealSecrets, sealsOf } from './sealed-routes.js'
import { securityPolicy } from './security-policy.js'
import { clientTrafficPolicy, trafficPolicy } from './traffic-policies.js'

/** Sorted by namespace, name and kind. */
export function exportEnvoyGateway(
  routes: readonly MeshRoute[],
  targets: ExportTargets,
): Result<readonly Manifest[], readonly ExportProblem[]> {
  const seals = targets.newSeal === undefined ? undefined : sealsOf(routes, targets.newSeal)
  const manifests = [
    ...backends(routes, targets),
    ...(seals === undefined ? [] : sealSecrets(routes, seals)),
    ...gatewaysOf(routes).map(clientTrafficPolicy),
    ...routes.flatMap((route) => [
      ...(seals === undefined ? [] : [sealedRoute(route, seals.get(route.namespace) ?? '')]),
      ...securityPolicy(route, seals !== undefined),
      ...extensionPolicy(route),
      ...trafficPolicy(route),
      ...documentsManifests(route),
    ]),
  ]
  const problems = [
    ...routes.flatMap((route) => problemsOf(route, seals !== undefined)),
    ...sameNames(manifests),
  ]
  return problems.length > 0 ? err(problems) : ok([...manifests].sort(byName))
}

function problemsOf(route: MeshRoute, isSealed: boolean): readonly ExportProblem[] {
  const { namespace, name, source, problems, gateways, authz, sealing } = route
  const all = [
    ...problems,
    ...(isSealed ? sealing.problems.map((problem) => `it cannot be sealed: ${problem}`) : []),
    ...(gateways.length === 0 && problems.length === 0 ? ['no Gateway takes it'] : []),
    ...(authz?.bodyBytes === undefined ? [] : [NO_BODIES]),
  ]
  return [...new Set(all)].map((problem) => ({
    source,
    message: `HTTPRoute ${namespace}/${name}: ${problem}`,
  }))
}

/** The server would read what was not checked: of a lenient one a byte that is not UTF-8 takes the quote behind it along. */
const NO_BODIES =
  'rules read mcp, and Envoy Gateway hands bodies to ext_authz as text, in which bytes that are not UTF-8 are replaced: such a body cannot be checked'

const gatewaysOf = (routes: readonly MeshRoute[]): readonly MeshRoute['gateways'][number][] => [
  ...new Map(
    routes.flatMap(({ gateways }) =>
      gateways.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway] as const),
    ),
  ).values(),
]

/** Two routes whose objects would have one name: one of them would be left open. */
function sameNames(manifests: readonly Manifest[]): readonly ExportProblem[] {
  const keys = manifests.map(keyOf)
  return [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))].map((key) => ({
    message: `two HTTPRoutes would be protected by ${key}: rename one of them`,
  }))
}

const keyOf = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`

const byName = (a: Manifest, b: Manifest): number =>
  compareText(a.metadata.namespace, b.metadata.namespace) ||
  compareText(a.metadata.name, b.metadata.name) ||
  compareText(a.kind, b.kind)
