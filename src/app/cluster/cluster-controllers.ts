// Runs the controllers that apply objects to the cluster, as far as the settings ask for them.

import {
  PROVISION_FEATURES,
  PROVISION_TLS_FEATURES,
} from '../../gatewayapi/status/supported-features.js'
import type { EnvoyTokens } from '../../provision/envoy-tokens.js'
import type { Settings } from '../../settings.js'
import type { PipelineState } from '../pipeline/pipeline.js'
import type { ControllerFindings } from './cluster-statuses.js'
import {
  type MeshControllerDeps,
  type RunningController,
  startMeshController,
} from './mesh-controller.js'
import { startProvisioner } from './provisioner.js'

/** The running controllers. */
export interface ClusterControllers {
  /** Absent: Gatehouse applies nothing to a mesh. */
  readonly mesh?: RunningController
  /** Knows created Envoys by their tokens; absent: there are none with TLS. */
  readonly tokens?: EnvoyTokens
  findings(): ControllerFindings
  onRun(state: PipelineState): void
  /** Looks at everything again: this replica may have gained the right to write. */
  look(): void
  close(): Promise<void>
}

/** The parts of the cluster that the controllers need. */
export interface ClusterControllersDeps extends Omit<MeshControllerDeps, 'onEnforced'> {
  /** Called when a result of findings() may have changed. */
  readonly onChange: () => void
}

/** Starts the controllers that the settings ask for. */
export function startControllers(
  settings: Settings,
  { onChange, ...deps }: ClusterControllersDeps,
): ClusterControllers {
  const mesh = startMeshController(settings, { ...deps, onEnforced: onChange })
  const provisioner = startProvisioner(settings, { ...deps, onChange })
  const supportedFeatures = featuresOf(settings)
  return {
    ...(mesh && { mesh }),
    ...(provisioner?.tokens && { tokens: provisioner.tokens }),
    findings: () => ({
      enforced: mesh?.enforced(),
      provisionProblem: provisioner && ((gateway) => provisioner.problemOf(gateway)),
      supportedFeatures,
    }),
    onRun: (state) => {
      mesh?.onRun(state)
      provisioner?.onRun(state)
    },
    look: () => {
      mesh?.look()
      provisioner?.look()
    },
    close: async () => {
      await mesh?.close()
      await provisioner?.close()
    },
  }
}

/** Returns the features of the Gateway API that the Envoys have which Gatehouse creates; undefined: it creates none. */
function featuresOf({ provision, connectCa }: Settings): readonly string[] | undefined {
  if (!provision) return undefined
  return connectCa === undefined ? PROVISION_FEATURES : PROVISION_TLS_FEATURES
}
