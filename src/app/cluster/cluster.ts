// Connects Gatehouse to a cluster: resources are read from the API server, and one replica writes their status back.

import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../logger.js'
import type { EnvoyTokens } from '../../provision/envoy-tokens.js'
import type { ResourceProvider } from '../../resources/kinds/resources.js'
import { createKubernetesClient } from '../../resources/kubernetes/client.js'
import { type Lease, startLease } from '../../resources/kubernetes/lease.js'
import { createKubernetesProvider } from '../../resources/kubernetes/provider.js'
import { createStatusWriter } from '../../resources/kubernetes/status-writer.js'
import type { Settings } from '../../settings.js'
import type { PipelineState } from '../pipeline/pipeline.js'
import { startControllers } from './cluster-controllers.js'
import { createClusterStatuses } from './cluster-statuses.js'
import { statusLeaseOf } from './lease-of.js'
import type { RunningController } from './mesh-controller.js'
import { createRareWarnings } from './rare-warnings.js'

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
  const source = createKubernetesProvider({
    client,
    apiGroup,
    namespaces: settings.namespace,
    onStatus: (key, kind) => {
      writer.changed(key)
      // The addresses that are probed are in the status of a Gateway.
      if (kind === 'Gateway') controllers.look()
    },
    onObject: (key) => writer.touched(key),
  })
  let isWriter = false
  const mayWrite = (): boolean => isWriter
  const writer = createStatusWriter({
    ...{ client, apiGroup, mayWrite, onWarning },
    raw: (key) => source.raw(key),
    adopt: (key, basis, answer) => source.adopt(key, basis, answer),
  })
  const own = statusLeaseOf(settings)
  const onChange = (held: boolean): void => {
    isWriter = held
    const verb = held ? 'writes' : 'does not write'
    logger.info({ identity: own.identity }, `this replica ${verb} status`)
    if (held) writer.refresh()
    controllers.look()
  }
  let state: PipelineState = {}
  const statuses = createClusterStatuses()
  const update = (): void => writer.update(statuses(state, controllers.findings()))
  const controllers = startControllers(settings, {
    ...{ client, source, onWarning, mayWrite },
    onChange: update,
  })
  let lease: Lease | undefined
  const leave = async (): Promise<void> => {
    isWriter = false
    for (const part of [source, controllers, writer, lease]) await part?.close()
  }
  return {
    provider: {
      start: async (tell) => {
        await source.start(tell)
        lease = startLease({ client, ...own, onChange, onWarning })
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

/** Returns a function that begins the work once, and resolves when it has ended or the time is over. */
function onceWithin(ms: number, work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | undefined
  return () => (begun ??= Promise.race([work(), delay(ms, undefined, { ref: false })]))
}
