// Exports the manifests that make Envoy Gateway's Envoys ask Gatehouse about the protected HTTPRoutes. If one of the
// routes cannot be protected, the result is only the problems: some of the manifests would leave other routes open.

import { compareText } from '../../incremental/sorted-list.js'
import { isListenerSet, type MeshRoute } from '../../ir/mesh-route.js'
import { err, ok, type Result } from '../../result.js'
import type { ExportProblem, ExportTargets, Manifest } from '../manifest.js'
import { isSealable, sealedRoute, sealSecrets, sealsOf } from '../sealed-routes.js'
import { backends } from './backends.js'
import { documentsManifests } from './documents.js'
import { extensionPolicy } from './extension-policy.js'
import { backendRefs } from './names.js'
import { securityPolicy } from './security-policy.js'
import { servicePolicies } from './service-policies.js'
import { clientTrafficPolicy, trafficPolicy } from './traffic-policies.js'

/** Returns the manifests sorted by namespace, name and kind. */
export function exportEnvoyGateway(
  routes: readonly MeshRoute[],
  targets: ExportTargets,
): Result<readonly Manifest[], readonly ExportProblem[]> {
  const sealable = routes.filter(isSealable)
  const seals = targets.newSeal === undefined ? undefined : sealsOf(sealable, targets.newSeal)
  const refs = backendRefs(targets)
  const manifests = [
    ...backends(routes, targets),
    ...servicePolicies(routes, targets),
    ...(seals === undefined ? [] : sealSecrets(sealable, seals)),
    ...gatewaysOf(routes).map(clientTrafficPolicy),
    ...routes.flatMap((route) => [
      ...(seals === undefined || !isSealable(route)
        ? []
        : [sealedRoute(route, seals.get(route.namespace) ?? '', refs.closed)]),
      ...securityPolicy(route, refs, seals !== undefined),
      ...extensionPolicy(route, refs),
      ...trafficPolicy(route),
      ...documentsManifests(route, refs),
    ]),
  ]
  const problems = [
    ...routes.flatMap((route) => problemsOf(route, seals !== undefined && isSealable(route))),
    ...sameNames(manifests),
  ]
  return problems.length > 0 ? err(problems) : ok([...manifests].sort(byName))
}

function problemsOf(route: MeshRoute, isSealed: boolean): readonly ExportProblem[] {
  const { namespace, name, source, problems, gateways, parents, authz, sealing } = route
  // A ListenerSet that Gatehouse does not know may lead to the route: it can still be closed.
  const isLost = gateways.length === 0 && problems.length === 0 && !parents.some(isListenerSet)
  const all = [
    ...problems,
    ...(isSealed ? sealing.problems.map((problem) => `it cannot be sealed: ${problem}`) : []),
    ...(isLost ? ['no Gateway takes it'] : []),
    ...(authz?.bodyBytes === undefined ? [] : [NO_BODIES]),
  ]
  return [...new Set(all)].map((problem) => ({
    source,
    message: `HTTPRoute ${namespace}/${name}: ${problem}`,
  }))
}

/**
 * The MCP server would read other text than was checked: with a lenient decoder, an invalid UTF-8 byte also swallows
 * the quote after it.
 */
const NO_BODIES =
  'rules read mcp, and Envoy Gateway hands bodies to ext_authz as text, in which bytes that are not UTF-8 are replaced: such a body cannot be checked'

const gatewaysOf = (routes: readonly MeshRoute[]): readonly MeshRoute['gateways'][number][] => [
  ...new Map(
    routes.flatMap(({ gateways }) =>
      gateways.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway] as const),
    ),
  ).values(),
]

/** Finds routes whose objects would have the same name: one of the routes would be left open. */
function sameNames(manifests: readonly Manifest[]): readonly ExportProblem[] {
  const keys = manifests.map(manifestKey)
  return [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))].map((key) => ({
    message: `two HTTPRoutes would be protected by ${key}: rename one of them`,
  }))
}

const manifestKey = ({ kind, metadata }: Manifest): string =>
  `${kind} ${metadata.namespace}/${metadata.name}`

const byName = (a: Manifest, b: Manifest): number =>
  compareText(a.metadata.namespace, b.metadata.namespace) ||
  compareText(a.metadata.name, b.metadata.name) ||
  compareText(a.kind, b.kind)
