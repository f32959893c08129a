// Lists what the controller applies and reads in each mesh.

import type { Mesh } from '../../../model/mesh-route.js'
import type { ExportTargets } from '../export/manifest.js'
import { ENVOY_GATEWAY_KINDS, envoyGatewayExport } from './envoy-gateway.js'
import { ISTIO_KINDS, ISTIO_SUSPECTS, istioExport } from './istio.js'
import type { MeshKind } from './mesh-kind.js'
import type { PathOrder } from './path-overlap.js'
import type { MeshExport } from './wanted.js'

/** What the controller applies and reads in a mesh. */
export interface MeshProfile {
  /** Kinds that are applied, in their order. */
  readonly kinds: readonly MeshKind[]
  /** Kinds of which others' objects are named if a route is not proven. */
  readonly suspects: readonly MeshKind[]
  readonly pathOrder: PathOrder
  readonly exportTo: (targets: ExportTargets) => MeshExport
}

/** The profile of each mesh. */
export const MESHES: Readonly<Record<Mesh, MeshProfile>> = {
  'envoy-gateway': {
    kinds: ENVOY_GATEWAY_KINDS,
    suspects: [],
    exportTo: envoyGatewayExport,
    pathOrder: ['prefix', 'pattern', 'exact'],
  },
  istio: {
    kinds: ISTIO_KINDS,
    suspects: ISTIO_SUSPECTS,
    exportTo: istioExport,
    pathOrder: ['pattern', 'prefix', 'exact'],
  },
}
