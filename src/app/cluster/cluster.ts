// Connects Gatehouse to a cluster: resources are read from the API server, and one replica writes their status back.

import { setTimeout as delay } from 'node:timers/promises'
import type { Parts } from '../../incremental/sorted-list.js'
import type { Logger } from '../../logger.js'
import type { EnvoyTokens } from '../../provision/envoy-tokens.js'
import type { ResourceProvider } from '../../resources/kinds/resources.js'
import { createKubernetesClient } from '../../resources/kubernetes/client.js'
import { createKubernetesProvider } from '../../resources/kubernetes/provider.js'
import {
  createStatusWriter,
  type ObjectStatus,
  type StatusWriter,
} from '../../resources/kubernetes/status-writer.js'
import type { Settings } from '../../settings.js'
import { runInTurns, type Work } from '../../turns.js'
import type { PipelineState } from '../pipeline/pipeline.js'
import { startControllers } from './cluster-controllers.js'
import { createClusterStatuses } from './cluster-statuses.js'
import type { RunningController } from './mesh-controller.js'
import { createRareWarnings } from './rare-warnings.js'
import { createWriteRight } from './write-right.js'

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
  const right = createWriteRight(settings, {
    ...{ client, logger, onWarning },
    onHeld: () => controllers.look(),
    onStatuses: () => writer.refresh(),
  })
  const writer = createStatusWriter({
    ...{ client, apiGroup, onWarning },
    mayWrite: (kind, namespace) => right.mayWriteStatus(kind, namespace),
    raw: (key) => source.raw(key),
    adopt: (key, basis, answer) => source.adopt(key, basis, answer),
  })
  let state: PipelineState = {}
  const statuses = createClusterStatuses()
  const update = updates(writer, logger, () => statuses(state, controllers.findings()))
  const controllers = startControllers(settings, {
    ...{ client, source, onWarning, mayWrite: () => right.isHeld() },
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
