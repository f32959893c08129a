// Connects Gatehouse to a cluster: resources are read from the API server, and one replica writes their status back.

import { setTimeout as delay } from 'node:timers/promises'
import {
  type MeshControllerDeps,
  type RunningController,
  startMeshController,
} from '../../addons/mesh/controller/mesh-controller.js'
import type { EnvoyTokens } from '../../addons/provision/envoy-tokens.js'
import { startProvisioner } from '../../addons/provision/provisioner.js'
import type { PipelineState } from '../../control/publish/pipeline.js'
import type { ResourceProvider } from '../../control/schema/kinds/resources.js'
import {
  type ClaimScope,
  isAllWrittenAhead,
  type ReleasesAhead,
} from '../../control/sources/kubernetes/claim-order.js'
import {
  createKubernetesClient,
  type KubernetesClient,
} from '../../control/sources/kubernetes/client.js'
import { type Lease, startLease } from '../../control/sources/kubernetes/lease.js'
import { claimScopeOf, leaseOf, statusLeaseOf } from '../../control/sources/kubernetes/lease-of.js'
import { createKubernetesProvider } from '../../control/sources/kubernetes/provider.js'
import { startStatusClaim } from '../../control/sources/kubernetes/status-claim.js'
import {
  createStatusWriter,
  type ObjectStatus,
  type StatusWriter,
} from '../../control/sources/kubernetes/status-writer.js'
import {
  PROVISION_FEATURES,
  PROVISION_TLS_FEATURES,
} from '../../control/translate/status/supported-features.js'
import type { Parts } from '../../kit/incremental/sorted-list.js'
import { createLogLimit } from '../../kit/log-limit.js'
import type { Logger } from '../../kit/logger.js'
import { runInTurns, type Work } from '../../kit/turns.js'
import type { Settings } from '../../ops/settings/settings.js'
import { type ControllerFindings, createClusterStatuses } from './cluster-statuses.js'

/** The connection to a cluster. */
export interface Cluster {
  readonly provider: ResourceProvider
  /** Absent: Gatehouse applies nothing to a mesh. */
  readonly mesh?: Pick<RunningController, 'probes' | 'followSecret' | 'enforced'>
  /** Knows created Envoys by their tokens; absent: there are none with TLS. */
  readonly tokens?: EnvoyTokens
  onRun(state: PipelineState): void
}

/** Longest time that an unresponsive API server may delay the shutdown, in milliseconds. */
const LEAVE_WITHIN = 2_000

/** @throws {Error} with a message for a person when no API server is configured. */
export function createCluster(settings: Settings, logger: Logger): Cluster {
  const { apiGroup } = settings
  const client = createKubernetesClient()
  logger.info({ server: client.server }, 'reading from the API server')
  const onWarning = createRareWarnings(logger)
  const onStatus = (key: string, kind: string): void => {
    writer.changed(key)
    // The addresses that are probed are in the status of a Gateway.
    if (kind === 'Gateway') controllers.look()
  }
  const onObject = (key: string): void => writer.touched(key)
  const { namespace: namespaces } = settings
  const source = createKubernetesProvider({ client, apiGroup, namespaces, onStatus, onObject })
  const right = createWriteRight(settings, {
    client,
    logger,
    onWarning,
    onHeld: () => controllers.look(),
    onStatuses: () => writer.refresh(),
  })
  const writer = createStatusWriter({
    client,
    apiGroup,
    onWarning,
    mayWrite: (kind, namespace) => right.mayWriteStatus(kind, namespace),
    raw: (key) => source.raw(key),
    adopt: (key, basis, answer) => source.adopt(key, basis, answer),
  })
  let state: PipelineState = {}
  const statuses = createClusterStatuses()
  const update = updates(writer, logger, () => statuses(state, controllers.findings()))
  const controllers = startControllers(settings, {
    client,
    source,
    onWarning,
    mayWrite: () => right.isHeld(),
    onChange: update,
  })
  const leave = async (): Promise<void> => {
    right.drop()
    for (const part of [source, controllers, writer, right]) await part.close()
  }
  return {
    provider: {
      start: async (tell) => {
        await source.start(tell)
        right.start()
      },
      close: onceWithin(LEAVE_WITHIN, leave),
    },
    ...(controllers.mesh && { mesh: controllers.mesh }),
    ...(controllers.tokens && { tokens: controllers.tokens }),
    onRun: (now) => {
      state = now
      controllers.onRun(now)
      update()
    },
  }
}

/** Returns a function that derives the statuses in slices, and once more if it is called meanwhile. */
function updates(
  writer: Pick<StatusWriter, 'update'>,
  logger: Logger,
  statusesWork: () => Work<Parts<ObjectStatus>>,
): () => void {
  let [isRunning, isDue] = [false, false]
  const run = async (): Promise<void> => {
    isRunning = true
    try {
      while (isDue) {
        isDue = false
        writer.update(await runInTurns(statusesWork()))
      }
    } catch (err) {
      logger.error({ err }, 'the statuses to write cannot be determined')
    }
    isRunning = false
  }
  return () => {
    isDue = true
    if (!isRunning) void run()
  }
}

/** Returns a function that begins the work once, and resolves when it has ended or the time is over. */
function onceWithin(ms: number, work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | undefined
  return () => (begun ??= Promise.race([work(), delay(ms, undefined, { ref: false })]))
}

// Limits warnings that recur with every attempt (a status that may not be written) to one line each in ten seconds.

/** now: milliseconds since the epoch. */
export function createRareWarnings(
  logger: Logger,
  now: () => number = Date.now,
): (message: string) => void {
  const limit = createLogLimit(now)
  return (message) => {
    const leftOut = limit.take(message)
    if (leftOut !== undefined) logger.warn({ leftOut }, message)
  }
}

// Runs the controllers that apply objects to the cluster, as far as the settings ask for them.

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
function startControllers(
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

// What this replica may write: for its release while it holds the Lease that the replicas share, and statuses only where
// no other release writes them.

/** What createWriteRight needs. */
export interface WriteRightDeps {
  readonly client: KubernetesClient
  readonly logger: Logger
  /** Called when the Lease of the replicas was won or lost. */
  onHeld(): void
  /** Called when this replica may write the statuses of more or fewer objects than before. */
  onStatuses(): void
  /** Logs a sentence. */
  onWarning(message: string): void
}

/** The right to write. */
export interface WriteRight {
  start(): void
  /** Whether this replica applies what its release applies. */
  isHeld(): boolean
  /** Whether this replica writes the status of an object of this kind in this namespace ('': in none). */
  mayWriteStatus(kind: string, namespace: string): boolean
  /** Gives up the right at once, before it is left to others. */
  drop(): void
  /** Leaves the right to others. */
  close(): Promise<void>
}

/** Creates the right, which nobody has before start(). */
function createWriteRight(settings: Settings, deps: WriteRightDeps): WriteRight {
  const { client, logger } = deps
  const onWarning = (message: string): void => deps.onWarning(message)
  const own = statusLeaseOf(settings)
  const { identity } = own
  const scope = claimScopeOf(settings)
  let isHeld = false
  const claim = startStatusClaim({
    client,
    identity,
    scope,
    onWarning,
    release: leaseOf(settings.environment),
    onChange: (ahead) => {
      if (ahead !== undefined) logger.info(fieldsOf(identity, ahead), verdictOf(scope, ahead))
      deps.onStatuses()
    },
  })
  const onChange = (held: boolean): void => {
    isHeld = held
    if (!held) logger.info({ identity }, 'this replica does not write status')
    claim.hold(held)
    deps.onHeld()
  }
  let lease: Lease | undefined
  return {
    start: () => {
      lease = startLease({ client, ...own, onChange, onWarning })
    },
    isHeld: () => isHeld,
    mayWriteStatus: (kind, namespace) => isHeld && claim.covers(kind, namespace),
    drop: () => {
      isHeld = false
    },
    close: async () => {
      await claim.close()
      await lease?.close()
    },
  }
}

function fieldsOf(identity: string, { ofEnvoys, ofOthers }: ReleasesAhead): object {
  const otherWriters = new Set([...ofEnvoys, ...ofOthers].map(({ release }) => release))
  return { identity, ...(otherWriters.size > 0 && { otherWriters: [...otherWriters] }) }
}

const verdictOf = (scope: ClaimScope, ahead: ReleasesAhead): string =>
  isAllWrittenAhead(scope, ahead)
    ? 'this replica does not write status: another release does'
    : 'this replica writes status'
