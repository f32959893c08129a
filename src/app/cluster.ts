// Connects Gatehouse to a cluster: resources are read from the API server, and one replica writes their status back.

import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../logger.js'
import type { ProviderState, ResourceProvider } from '../resources/kinds/resources.js'
import { createKubernetesClient } from '../resources/kubernetes/client.js'
import { startLease } from '../resources/kubernetes/lease.js'
import { createKubernetesProvider } from '../resources/kubernetes/provider.js'
import { createStatusWriter } from '../resources/kubernetes/status-writer.js'
import type { Settings } from '../settings.js'
import { clusterStatuses } from './cluster-statuses.js'
import { leaseOf } from './lease-of.js'
import { startMeshController } from './mesh-controller.js'
import type { PipelineState } from './pipeline.js'
import { createRareWarnings } from './rare-warnings.js'

export interface Cluster {
  readonly provider: ResourceProvider
  onRun(state: PipelineState): void
}

/** Longest time that an unresponsive API server may delay the shutdown, in milliseconds. */
const LEAVE_WITHIN = 2_000

/** @throws {Error} with a message for a person when no API server is configured. */
export function createCluster(settings: Settings, logger: Logger): Cluster {
  const { apiGroup, environment } = settings
  const client = createKubernetesClient()
  const onWarning = createRareWarnings(logger)
  const source = createKubernetesProvider({
    client,
    apiGroup,
    namespaces: settings.namespace,
    onStatus: (key) => writer.changed(key),
    onObject: (key) => writer.touched(key),
  })
  let isWriter = false
  const mayWrite = (): boolean => isWriter
  const writer = createStatusWriter({
    client,
    apiGroup,
    raw: (key) => source.raw(key),
    adopt: (key, basis, answer) => source.adopt(key, basis, answer),
    mayWrite,
    onWarning,
  })
  const own = leaseOf(environment)
  const onChange = (held: boolean): void => {
    isWriter = held
    const { identity } = own
    logger.info({ identity }, `this replica ${held ? 'writes' : 'does not write'} status`)
    if (held) writer.refresh()
    controller?.look()
  }
  const controller = startMeshController(settings, { client, source, onWarning, mayWrite })
  const start = async (tell: (state: ProviderState) => void): Promise<() => Promise<void>> => {
    logger.info({ server: client.server }, 'reading from the API server')
    await source.start(tell)
    const lease = startLease({ client, ...own, onChange, onWarning })
    return () => lease.close()
  }
  let endLease: (() => Promise<void>) | undefined
  const leave = async (): Promise<void> => {
    isWriter = false
    await source.close()
    await controller?.close()
    await writer.close()
    await endLease?.()
  }
  let left: Promise<void> | undefined
  return {
    provider: {
      start: async (tell) => {
        endLease = await start(tell)
      },
      close: () =>
        (left ??= Promise.race([leave(), delay(LEAVE_WITHIN, undefined, { ref: false })])),
    },
    onRun: (state) => {
      writer.update(clusterStatuses(state))
      controller?.onRun(state)
    },
  }
}
