// Exports one HTTPRoute to Istio, for the controller: its patches have an EnvoyFilter of their own, so that no other route
// keeps them from being applied.

import { err, ok, type Result } from '../../../../kit/result.js'
import type { MeshRoute } from '../../../../model/mesh-route.js'
import { documentsHttpRoute } from '../gateway-api.js'
import type { ExportProblem, ExportTargets, Manifest } from '../manifest.js'
import { CLOSED_SERVICE_REF, closedServices } from './closed.js'
import { filtersOfGateway, filtersOfRoute, isAuditedRoute } from './envoy-filter.js'
import { ownProblems } from './problems.js'

/** Returns the manifests, of which other routes may need some too: the Gateways' filters, and the closed Service. */
export function exportIstioRoute(
  route: MeshRoute,
  { gatehouse, requirePolicy }: Pick<ExportTargets, 'gatehouse' | 'requirePolicy'>,
): Result<readonly Manifest[], readonly ExportProblem[]> {
  const options = { gatehouse, isSealed: false, requirePolicy }
  const problems = ownProblems(route, options)
  if (problems.length > 0) return err(problems)
  const { documents, gateways } = route
  return ok([
    ...gateways.map((gateway) => filtersOfGateway(gateway, options, isAuditedRoute(route))),
    ...filtersOfRoute(route, options),
    ...closedServices([route], []),
    ...(documents === undefined ? [] : [documentsHttpRoute(route, documents, CLOSED_SERVICE_REF)]),
  ])
}
