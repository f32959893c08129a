// Wires the controller of a mesh: what it reads, what it applies, and where it is stopped.

import { hash } from 'node:crypto'
import { MeshController } from '../controller/controller.js'
import { ENVOY_GATEWAY_KINDS, envoyGatewayExport } from '../controller/envoy-gateway.js'
import { resourceKey } from '../resources/decode/resource-set.js'
import { createApplier } from '../resources/kubernetes/applier.js'
import type { KubernetesClient } from '../resources/kubernetes/client.js'
import { startMirror } from '../resources/kubernetes/mirror.js'
import type { KubernetesProvider } from '../resources/kubernetes/provider.js'
import type { Settings } from '../settings.js'
import { targetsOf } from './export-targets.js'
import { leaseOf } from './lease-of.js'
import type { PipelineState } from './pipeline.js'

export interface RunningController {
  onRun(state: PipelineState): void
  /** Looks at everything again: this replica may have gained the right to write. */
  look(): void
  close(): Promise<void>
}

export interface MeshControllerDeps {
  readonly client: KubernetesClient
  readonly source: Pick<KubernetesProvider, 'raw'>
  readonly mayWrite: () => boolean
  readonly onWarning: (message: string) => void
}

/** Returns undefined without a mesh. @throws {Error} for a person when the addresses in the flags do not fit. */
export function startMeshController(
  settings: Settings,
  { client, source, mayWrite, onWarning }: MeshControllerDeps,
): RunningController | undefined {
  if (settings.for !== 'envoy-gateway') return undefined
  const targets = targetsOf(settings)
  if (!targets.ok) throw new Error(targets.error)
  const kinds = ENVOY_GATEWAY_KINDS
  const mirror = startMirror(client, kinds, settings.namespace, () => controller.look())
  const controller = new MeshController({
    ...{ mirror, kinds, mayWrite, onWarning },
    applier: createApplier(client, kinds),
    mesh: envoyGatewayExport(targets.value),
    label: [`${settings.apiGroup}/controller`, labelOf(settings)],
    gateway: ({ namespace, name }) => source.raw(resourceKey('Gateway', namespace, name)),
    onRound: () => undefined,
  })
  return {
    onRun: ({ provider, translation, failure }) => {
      if (provider?.complete !== true || translation?.mesh === undefined) return
      if (failure !== undefined) return
      const isWhole = provider.problems.every(({ kind = '' }) => HARMLESS.has(kind))
      controller.update({ routes: translation.mesh, isWhole })
    },
    look: () => controller.look(),
    close: async () => {
      mirror.close()
      await controller.close()
    },
  }
}

/** Kinds whose problems hide no policy, no route and no Gateway. */
const HARMLESS: ReadonlySet<string> = new Set(['Secret', 'ConfigMap', 'Service', 'EndpointSlice'])

/** Value of the label: the name of the Lease, which replicas share. A label may have 63 characters. */
function labelOf({ environment }: Settings): string {
  const { namespace, name } = leaseOf(environment)
  const text = `${namespace}.${name}`
  return text.length <= 63 ? text : `${text.slice(0, 46)}-${hash('sha256', text).slice(0, 16)}`
}
