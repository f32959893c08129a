// Wires the controller of a mesh: what it reads, what it applies, and where it is stopped.

import { setTimeout as delay } from 'node:timers/promises'
import type { Enforcement } from '../../controller/enforcement.js'
import { Enforcer, type EnforcerDeps } from '../../controller/enforcer.js'
import { MESHES } from '../../controller/meshes.js'
import { probe } from '../../controller/probe.js'
import { Prober } from '../../controller/prober.js'
import { type MeshInput, remembering, type Wanted, wantedWork } from '../../controller/wanted.js'
import type { GatewayName } from '../../ir/status.js'
import { createProbeSigns, type ProbeSigns } from '../../probes/probe-signs.js'
import { resourceKey } from '../../resources/decode/resource-set.js'
import { createApplier } from '../../resources/kubernetes/applier.js'
import type { KubernetesClient } from '../../resources/kubernetes/client.js'
import { startMirror } from '../../resources/kubernetes/mirror.js'
import { ObjectKeeper } from '../../resources/kubernetes/object-keeper.js'
import type { KubernetesProvider } from '../../resources/kubernetes/provider.js'
import { labelOf } from '../../resources/kubernetes/wanted-object.js'
import type { Settings } from '../../settings.js'
import { callRules, tenancyOf } from '../outbound/tenancy.js'
import type { PipelineState } from '../pipeline/pipeline.js'
import { createEnforcementEvents } from './enforcement-events.js'
import { targetsOf } from './export-targets.js'
import { leaseOf, releaseLabel } from './lease-of.js'
import { createOpenPathsOf } from './open-paths-of.js'
import { startProbeSecret } from './probe-secret.js'

/** A running controller. */
export interface RunningController {
  onRun(state: PipelineState): void
  /** Looks at everything again: this replica may have gained the right to write. */
  look(): void
  /** Whether each policy is enforced, by NAMESPACE/NAME, as far as this replica reports it. */
  enforced(): ReadonlyMap<string, Enforcement>
  /** For the servers that answer probes. */
  readonly probes: ProbeSigns
  /** Calls a function with the secret of probes as soon as it is known, and when it has changed: workers answer probes. */
  followSecret(onSecret: (secret: Uint8Array) => void): void
  close(): Promise<void>
}

/** What the controller is started with. */
export interface MeshControllerDeps {
  readonly client: KubernetesClient
  readonly source: Pick<KubernetesProvider, 'raw'>
  readonly mayWrite: () => boolean
  /** Called when a result of enforced() has changed. */
  readonly onEnforced: () => void
  readonly onWarning: (message: string) => void
}

/** Returns undefined without a mesh. @throws {Error} for a person when the addresses in the flags do not fit. */
export function startMeshController(
  settings: Settings,
  deps: MeshControllerDeps,
): RunningController | undefined {
  if (settings.for === undefined || settings.for === 'envoy') return undefined
  const targets = targetsOf(settings)
  if (!targets.ok) throw new Error(targets.error)
  const { client, source, mayWrite, onWarning } = deps
  const { kinds, suspects, exportTo, pathOrder } = MESHES[settings.for]
  const mesh = remembering(exportTo(targets.value))
  const secret = startProbeSecret({ ...deps, ...probeSecretName(settings) })
  const probes = createProbeSigns(() => secret.current(), Date.now)
  const label = [`${settings.apiGroup}/controller`, releaseLabel(settings)] as const
  const read = [...new Set([...kinds, ...suspects])]
  const mirror = startMirror(client, read, settings.namespace, () => controller.look())
  const gatewayOf = (gateway: GatewayName) =>
    source.raw(resourceKey('Gateway', gateway.namespace, gateway.name))
  const { hasOneKey } = mesh
  const { enforcer, prober, events } = createEnforcer(settings, deps, {
    ...{ mirror, probes, gatewayOf, hasOneKey },
    suspectKinds: suspects.map(({ kind }) => kind),
    isOwn: (object) => labelOf(object, label[0]) === label[1],
  })
  const openPathsOf = createOpenPathsOf(pathOrder)
  let state: PipelineState = {}
  const controller = new ObjectKeeper<MeshInput, Wanted>({
    ...{ mirror, kinds, label, mayWrite, onWarning, gatewayOf },
    applier: createApplier(client, kinds),
    subject: 'the objects of the mesh',
    wantedWork: ({ routes }) => wantedWork(routes, mesh),
    onRound: (round) => enforcer.take(round, openPathsOf(state, round.wanted)),
  })
  return {
    probes,
    followSecret: (onSecret) => secret.follow(onSecret),
    enforced: () => enforcer.known(),
    onRun: (now) => {
      const { provider, translation, failure } = now
      if (provider?.complete !== true || translation?.mesh === undefined) return
      if (failure !== undefined) return
      state = now
      const isWhole = provider.problems.every(({ kind = '' }) => HARMLESS.has(kind))
      controller.update({ routes: translation.mesh, isWhole })
    },
    look: () => {
      if (!mayWrite()) {
        enforcer.clear()
        events.forget()
      }
      controller.look()
    },
    close: async () => {
      mirror.close()
      secret.close()
      await prober.close()
      await controller.close()
    },
  }
}

interface EnforcerParts extends Omit<EnforcerDeps, 'prober' | 'onChange' | 'onWarning'> {
  readonly probes: ProbeSigns
}

function createEnforcer(
  settings: Settings,
  { client, source, onEnforced, onWarning }: MeshControllerDeps,
  { probes, ...parts }: EnforcerParts,
) {
  const events = createEnforcementEvents(settings, { client, source, onWarning })
  const rules = callRules(tenancyOf(settings), settings.allowAddress, () => [])
  const direct = new Set<string>()
  const prober = new Prober({
    probe: (target, signal) => probe(target, { signs: probes, rules, direct }, signal),
    onChange: () => enforcer.look(),
    wait: (milliseconds, signal) =>
      delay(milliseconds, undefined, { signal, ref: false }).catch(() => undefined),
    onWarning,
    now: () => performance.now(),
  })
  const enforcer = new Enforcer({
    ...{ ...parts, prober, onWarning },
    onChange: (now, before) => {
      onEnforced()
      events.compare(now, before)
    },
  })
  return { enforcer, prober, events }
}

function probeSecretName({ environment }: Settings) {
  const { namespace, name } = leaseOf(environment)
  return { namespace, name: `${name}-probe` }
}

/** Kinds whose problems hide no policy, no route and no Gateway. */
const HARMLESS: ReadonlySet<string> = new Set(['Secret', 'ConfigMap', 'Service', 'EndpointSlice'])
