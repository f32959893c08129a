// Exports the manifests that make Istio's gateways ask Gatehouse about the protected HTTPRoutes. If one of the routes
// cannot be protected, the result is only the problems: some of the manifests would leave other routes open.

import { compareText } from '../../../../kit/incremental/sorted-list.js'
import { err, ok, type Result } from '../../../../kit/result.js'
import type { MeshRoute } from '../../../../model/mesh-route.js'
import type { GatewayName } from '../../../../model/status.js'
import { documentsHttpRoute } from '../gateway-api.js'
import type { ExportProblem, ExportTargets, Manifest } from '../manifest.js'
import { isSealable, sealedRoute, sealSecrets, sealsOf } from '../sealed-routes.js'
import { customPolicy } from './authz.js'
import { CLOSED_SERVICE_REF, closedServices } from './closed.js'
import { envoyFilter } from './envoy-filter.js'
import { type KnownRoute, problemsOf } from './problems.js'

/** What an export for Istio refers to. */
export interface IstioTargets extends Pick<
  ExportTargets,
  'gatehouse' | 'newSeal' | 'requirePolicy'
> {
  /** Extension provider of the mesh that leads to Gatehouse; absent: the EnvoyFilter alone asks Gatehouse. */
  readonly customProvider?: string | undefined
}

/**
 * Returns the manifests sorted by namespace, name and kind.
 * @param known every HTTPRoute, to find names of Envoy routes that occur twice.
 */
export function exportIstio(
  routes: readonly MeshRoute[],
  known: readonly KnownRoute[],
  { gatehouse, newSeal, customProvider, requirePolicy }: IstioTargets,
): Result<readonly Manifest[], readonly ExportProblem[]> {
  const isSealed = newSeal !== undefined
  const options = { gatehouse, isSealed, customProvider, requirePolicy }
  const problems = problemsOf(routes, known, options)
  if (problems.length > 0) return err(problems)
  const sealable = isSealed ? routes.filter(isSealable) : []
  const seals = isSealed ? sealsOf(sealable, newSeal) : undefined
  const manifests = [
    ...byGateway(routes).flatMap(({ gateway, of }) => [
      envoyFilter(gateway, of, options),
      ...(customProvider === undefined ? [] : customPolicy(gateway, of, customProvider)),
    ]),
    ...closedServices(routes, sealable),
    ...routes.flatMap((route) =>
      route.documents === undefined
        ? []
        : [documentsHttpRoute(route, route.documents, CLOSED_SERVICE_REF)],
    ),
    ...(seals === undefined
      ? []
      : [
          ...sealSecrets(sealable, seals),
          ...sealable.map((route) =>
            sealedRoute(route, seals.get(route.namespace) ?? '', CLOSED_SERVICE_REF),
          ),
        ]),
  ]
  return ok(manifests.sort(byName))
}

interface GatewayRoutes {
  readonly gateway: GatewayName
  readonly of: readonly MeshRoute[]
}

function byGateway(routes: readonly MeshRoute[]): readonly GatewayRoutes[] {
  const names = new Map(
    routes.flatMap(({ gateways }) =>
      gateways.map((gateway) => [gatewayKey(gateway), gateway] as const),
    ),
  )
  return [...names].map(([key, gateway]) => ({
    gateway,
    of: routes.filter(({ gateways }) => gateways.some((one) => gatewayKey(one) === key)),
  }))
}

const gatewayKey = ({ namespace, name }: GatewayName): string => `${namespace}/${name}`

const byName = (a: Manifest, b: Manifest): number =>
  compareText(a.metadata.namespace, b.metadata.namespace) ||
  compareText(a.metadata.name, b.metadata.name) ||
  compareText(a.kind, b.kind)
