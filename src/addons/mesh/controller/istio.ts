// Exports single routes to Istio for the controller, and knows the kinds that it applies and reads there.

import { err } from '../../../kit/result.js'
import { exportIstioRoute } from '../export/istio/export-route.js'
import { CLOSED_SERVICE } from '../export/istio/names.js'
import type { ExportTargets, Manifest } from '../export/manifest.js'
import { nameClashes } from './istio-names.js'
import type { MeshKind } from './mesh-kind.js'
import type { MeshExport } from './wanted.js'

const ENVOY_FILTER: MeshKind = {
  group: 'networking.istio.io',
  kind: 'EnvoyFilter',
  versions: ['v1alpha3'],
}

/** The kinds that are applied, in the order in which they are. Of the Services, only those for closed routes are read. */
export const ISTIO_KINDS: readonly MeshKind[] = [
  { group: '', kind: 'Service', versions: ['v1'], name: CLOSED_SERVICE },
  ENVOY_FILTER,
  { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', versions: ['v1', 'v1beta1'] },
]

/** Kinds that may keep the others from having their effect, the last of which is only read. */
export const ISTIO_SUSPECTS: readonly MeshKind[] = [
  ENVOY_FILTER,
  { group: 'security.istio.io', kind: 'AuthorizationPolicy', versions: ['v1', 'v1beta1'] },
]

/** Returns the export to Istio. */
export const istioExport = (
  targets: Pick<ExportTargets, 'gatehouse' | 'requirePolicy'>,
): MeshExport => ({
  ofRoute: (route) => {
    const exported = exportIstioRoute(route, targets)
    return exported.ok ? exported : err(exported.error.map(({ message }) => message))
  },
  merge: (one, other) =>
    one.kind === 'Service'
      ? one
      : one.kind === 'EnvoyFilter'
        ? mergedFilter(one, other)
        : undefined,
  clashes: nameClashes,
  hasOneKey: true,
})

/** The filters of a Gateway: one of its routes may need one more. */
function mergedFilter(one: Manifest, other: Manifest): Manifest {
  return countPatches(other) > countPatches(one) ? other : one
}

function countPatches({ spec }: Manifest): number {
  const { configPatches } = spec as { readonly configPatches?: readonly unknown[] }
  return configPatches?.length ?? 0
}
