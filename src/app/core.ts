// The parts between the provider and the servers, wired: pipeline, remote documents, publisher, services, reports.
// Opens no socket by itself.

import type { AdminSource } from '../admin/admin-server.js'
import { createMetrics, type Metrics } from '../admin/metrics.js'
import { countResources } from '../admin/status-report.js'
import { createHeldBytes } from '../extproc/stream/held-bytes.js'
import { createTranslator, type Translator } from '../gatewayapi/translator.js'
import type { GrpcService } from '../grpc/service.js'
import type { Logger } from '../logger.js'
import type { Settings } from '../settings.js'
import { Envoys } from '../snapshot/envoys.js'
import { createPublisher } from '../snapshot/publisher.js'
import { SnapshotCache } from '../xds/server/snapshot-cache.js'
import type { XdsOptions } from '../xds/translator/xds-resources.js'
import { createAdminSource } from './admin-source.js'
import { createHeapGrowth } from './heap-growth.js'
import { defaultHeldBytes } from './held-bytes-default.js'
import { createOutbound, type OutboundParts } from './outbound.js'
import { createPipeline, type Pipeline, type PipelineState } from './pipeline.js'
import { createProblemLog } from './problem-log.js'
import { relayKeys } from './relay-keys.js'
import { refusals, resourcesReport, unpublished } from './report.js'
import { createAds, createCheckAndProcess } from './services.js'
import { ENVOY_CA_FILE, systemCaFile } from './system-ca-file.js'

export interface Core {
  readonly pipeline: Pipeline
  readonly envoys: Envoys
  readonly services: readonly GrpcService[]
  /** Why traffic is not served as written yet; empty: it is. */
  unpublished(): readonly string[]
  /** What connected Envoys do not take; empty: nothing. */
  refusals(): readonly string[]
  /** obstacles: beyond what the core knows. */
  adminSource(obstacles: () => readonly string[]): AdminSource
  close(): Promise<void>
}

export interface CoreDeps {
  readonly logger: Logger
  /** Envoy is a child of ours, on this machine. */
  readonly ownEnvoy: boolean
  /** Told of every run of the pipeline. */
  readonly onRun?: ((state: PipelineState) => void) | undefined
}

export function createCore(settings: Settings, { logger, ownEnvoy, onRun }: CoreDeps): Core {
  const now = (): number => Date.now()
  const heldBytes = createHeldBytes(settings.heldBytes ?? defaultHeldBytes())
  const metrics = createMetrics(() => heldBytes.held())
  const envoys = new Envoys()
  const cache = new SnapshotCache()
  const trust = { loopback: !settings.kubernetes }
  const ads = createAds({ cache, envoys, metrics, logger, now, trust })
  const publisher = createPublisher({ cache, settled: () => ads.settled(), now, startTimer })
  const caFile = systemCaFile(settings.environment)
  const outbound = createOutbound(settings, {
    caFile,
    ...{ logger, metrics, now, startTimer },
    ownAddresses: () => pipeline.state().translation?.ownAddresses ?? NONE,
    onChange: () => pipeline.remoteChanged(),
  })
  const { callRemote, callPublic, pools, remote, names } = outbound
  const pipeline: Pipeline = createPipeline({
    translator: translatorOf(settings, outbound),
    remote,
    names,
    publisher,
    rememberedTokens: settings.rememberedTokens,
    options: xdsOptions(settings, ownEnvoy, caFile),
    logger,
    onFailure: () => metrics.translationFailed(),
    onRun: reportRuns(settings, logger, metrics, onRun),
    startTimer,
  })
  const { maxBodyBytes, bodyTimeout: bodyTimeoutMs } = settings
  const checkAndProcess = createCheckAndProcess({
    ...{ publisher, pipeline, remote, callRemote, callPublic, pools, metrics, logger, now },
    bodies: { maxBodyBytes, heldBytes, bodyTimeoutMs },
    budget: { steps: settings.ruleSteps, bytes: settings.ruleBytes },
  })
  const obstacles = (): readonly string[] => unpublished(pipeline.state(), publisher.current())
  const adminParts = { pipeline, publisher, envoys, remote, metrics, now }
  return {
    pipeline,
    envoys,
    services: [...checkAndProcess, ads],
    unpublished: obstacles,
    refusals: () => refusals(envoys.report()),
    adminSource: (more) => createAdminSource(adminParts, () => [...obstacles(), ...more()]),
    async close() {
      pipeline.close()
      publisher.close()
      await outbound.close()
    },
  }
}

const translatorOf = (settings: Settings, { tenancy }: OutboundParts): Translator =>
  createTranslator({
    apiGroup: settings.apiGroup,
    clusterDomain: settings.clusterDomain,
    metadataIssuer: settings.metadataIssuer === 'gateway' ? 'Gateway' : 'Provider',
    mcpProtocolVersion: settings.mcpProtocolVersion,
    mcpBodyBytes: settings.mcpBodyBytes,
    ...relayKeys(settings),
    isCluster: settings.kubernetes,
    ...(settings.given.has('sharedEnvoys') && { sharesEnvoys: settings.sharedEnvoys }),
    ...(tenancy && { tenancy }),
  })

const xdsOptions = (
  { listenAddress, trustedHops }: Settings,
  ownEnvoy: boolean,
  caFile: string,
): XdsOptions => ({
  listenAddress,
  trustedHops,
  systemCaFile: ownEnvoy ? caFile : ENVOY_CA_FILE,
  accessLog: false,
  // Envoys beside ours are for `serve`; two `run`s on one port would each get a part of its requests.
  exclusivePorts: ownEnvoy,
})

/** What each run of the pipeline changes beside what it publishes: metrics, the log, the heap's growth. */
function reportRuns(
  { kubernetes }: Settings,
  logger: Logger,
  metrics: Metrics,
  onRun: CoreDeps['onRun'],
): (state: PipelineState) => void {
  const logProblems = createProblemLog(logger, kubernetes)
  const boundHeap = createHeapGrowth()
  return (state) => {
    metrics.resources(() => countResources(resourcesReport(state)))
    boundHeap(countOf(state))
    logProblems(state)
    onRun?.(state)
  }
}

const countOf = ({ provider }: PipelineState): number =>
  provider === undefined
    ? 0
    : Object.values<readonly unknown[]>({ ...provider.resources }).reduce(
        (sum, { length }) => sum + length,
        0,
      )

const NONE: readonly string[] = []

function startTimer(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
