// Wires the controller of the Envoys that Gatehouse creates: what it reads, what it applies, and where it is stopped.

import { memo } from '../../incremental/memo.js'
import type { ProvisionedGateway } from '../../ir/provisioned-gateway.js'
import type { GatewayName } from '../../ir/status.js'
import { envoyManifests, type EnvoySettings, PROVISIONED_KINDS } from '../../provision/manifests.js'
import {
  type ProvisionInput,
  type ProvisionProblem,
  provisionProblem,
  wantedEnvoys,
} from '../../provision/wanted-envoys.js'
import { resourceKey } from '../../resources/decode/resource-set.js'
import { createApplier } from '../../resources/kubernetes/applier.js'
import type { KubernetesClient } from '../../resources/kubernetes/client.js'
import { startMirror } from '../../resources/kubernetes/mirror.js'
import type { WantedObjects } from '../../resources/kubernetes/object-keeper.js'
import { ObjectKeeper } from '../../resources/kubernetes/object-keeper.js'
import type { KubernetesProvider } from '../../resources/kubernetes/provider.js'
import type { Settings } from '../../settings.js'
import type { PipelineState } from '../pipeline/pipeline.js'
import { leaseOf, releaseLabel } from './lease-of.js'

/** The running controller of the Envoys. */
export interface Provisioner {
  onRun(state: PipelineState): void
  /** Looks at everything again: this replica may have gained the right to write. */
  look(): void
  /** Returns why the Envoys of a Gateway do not serve it; undefined: they do, or Gatehouse does not create them. */
  problemOf(gateway: GatewayName): ProvisionProblem | undefined
  close(): Promise<void>
}

/** The parts of the cluster that the provisioner needs. */
export interface ProvisionerDeps {
  readonly client: KubernetesClient
  readonly source: Pick<KubernetesProvider, 'raw'>
  readonly mayWrite: () => boolean
  /** Called when a result of problemOf() may have changed. */
  readonly onChange: () => void
  readonly onWarning: (message: string) => void
}

/** Returns undefined without --provision. */
export function startProvisioner(
  settings: Settings,
  { client, source, mayWrite, onChange, onWarning }: ProvisionerDeps,
): Provisioner | undefined {
  if (!settings.provision) return undefined
  const kinds = PROVISIONED_KINDS
  const label = [`${settings.apiGroup}/provisioned-by`, releaseLabel(settings)] as const
  const labelSelector = label.join('=')
  const mirrored = kinds.map((kind) => ({ ...kind, labelSelector }))
  const mirror = startMirror(client, mirrored, settings.namespace, () => keeper.look())
  const envoys = envoySettings(settings)
  const manifestsOf = memo((gateway: ProvisionedGateway) => envoyManifests(gateway, envoys))
  let gateways = new Map<string, ProvisionedGateway>()
  let problems: ReadonlyMap<string, string> = new Map()
  const keeper = new ObjectKeeper<ProvisionInput, WantedObjects>({
    ...{ mirror, kinds, label, mayWrite, onWarning },
    mirrorsOwnOnly: true,
    subject: 'the Envoys of Gateways',
    applier: createApplier(client, kinds),
    wantedWork: (input) => wantedEnvoys(input, manifestsOf),
    gatewayOf: ({ namespace, name }) => source.raw(resourceKey('Gateway', namespace, name)),
    onRound: (round) => {
      problems = round.problems
      onChange()
    },
  })
  return {
    problemOf: ({ namespace, name }) => {
      const gateway = gateways.get(resourceKey('Gateway', namespace, name))
      const sources = { objectOf: (key: string) => mirror.get(key), problems }
      return gateway && provisionProblem(gateway, { ...sources, obstacles: mirror.obstacles() })
    },
    onRun: ({ provider, translation, failure }) => {
      if (provider?.complete !== true || translation?.provisioned === undefined) return
      if (failure !== undefined) return
      const all = translation.provisioned
      gateways = new Map(
        all.map((each) => [resourceKey('Gateway', each.namespace, each.name), each] as const),
      )
      const isWhole = provider.problems.every(({ kind = '' }) => !ABOUT_GATEWAYS.has(kind))
      keeper.update({ gateways: all, isWhole })
    },
    look: () => keeper.look(),
    close: async () => {
      mirror.close()
      await keeper.close()
    },
  }
}

/** Kinds whose problems may hide a Gateway; "": the kind is not known. */
const ABOUT_GATEWAYS: ReadonlySet<string> = new Set(['Gateway', 'GatewayClass', ''])

function envoySettings({ connect, environment }: Settings): EnvoySettings {
  // --provision needs --connect (settings/provision-checks.ts).
  if (connect === undefined) throw new Error('--provision needs --connect')
  return { connection: { address: connect }, release: leaseOf(environment).name }
}
