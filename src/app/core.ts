// The parts between the provider and the servers, wired: pipeline, remote documents, publisher, services, reports.
// Opens no socket by itself.

import type { AdminSource } from '../admin/admin-server.js'
import { createMetrics } from '../admin/metrics.js'
import { countResources } from '../admin/status-report.js'
import { createHeldBytes } from '../extproc/stream/held-bytes.js'
import { createTranslator } from '../gatewayapi/translator.js'
import type { GrpcService } from '../grpc/service.js'
import type { RemoteState } from '../ir/remote-target.js'
import type { Logger } from '../logger.js'
import type { Settings } from '../settings.js'
import { createCallRemote, systemLookup } from '../remote/http-call.js'
import { createNameStore } from '../remote/name-store.js'
import { createRemoteStore, type RemoteStore } from '../remote/remote-store.js'
import { systemAuthorities } from '../remote/system-authorities.js'
import { createWebhookPools } from '../remote/webhook-pools.js'
import { Envoys } from '../snapshot/envoys.js'
import { createPublisher } from '../snapshot/publisher.js'
import { SnapshotCache } from '../xds/server/snapshot-cache.js'
import { createPipeline, type Pipeline, type PipelineState } from './pipeline.js'
import { createHeapGrowth } from './heap-growth.js'
import { defaultHeldBytes } from './held-bytes-default.js'
import { createProblemLog } from './problem-log.js'
import { configDump, remoteReport, refusals, resourcesReport, unpublished } from './report.js'
import { createAds, createCheckAndProcess } from './services.js'
import { callRules, tenancyOf } from './tenancy.js'
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
  const ownService = (): readonly string[] => pipeline.state().translation?.ownAddresses ?? NONE
  const envoys = new Envoys()
  const logProblems = createProblemLog(logger, settings.kubernetes)
  const boundHeap = createHeapGrowth()
  const cache = new SnapshotCache()
  const trust = { loopback: !settings.kubernetes }
  const ads = createAds({ cache, envoys, metrics, logger, now, trust })
  const publisher = createPublisher({ cache, settled: () => ads.settled(), now, startTimer })
  const caFile = systemCaFile(settings.environment)
  const tenancy = tenancyOf(settings)
  const calls = {
    lookup: systemLookup,
    systemAuthorities: systemAuthorities(caFile),
    addresses: callRules(tenancy, settings.allowAddress, ownService),
  }
  const callRemote = createCallRemote(calls)
  const pools = createWebhookPools(calls)
  const remote: RemoteStore = createRemoteStore({
    callRemote,
    now,
    logger,
    metrics,
    maxStaleMs: settings.jwksMaxStale,
    onChange: (_state: RemoteState) => pipeline.remoteChanged(),
  })
  const names =
    tenancy &&
    createNameStore({
      lookup: systemLookup,
      logger,
      onChange: () => pipeline.remoteChanged(),
      random: Math.random,
      startTimer,
    })
  const pipeline: Pipeline = createPipeline({
    translator: createTranslator({
      apiGroup: settings.apiGroup,
      clusterDomain: settings.clusterDomain,
      metadataIssuer: settings.metadataIssuer === 'gateway' ? 'Gateway' : 'Provider',
      isCluster: settings.kubernetes,
      ...(settings.given.has('sharedEnvoys') && { sharesEnvoys: settings.sharedEnvoys }),
      ...(tenancy && { tenancy }),
    }),
    remote,
    names,
    publisher,
    rememberedTokens: settings.rememberedTokens,
    options: {
      listenAddress: settings.listenAddress,
      trustedHops: settings.trustedHops,
      systemCaFile: ownEnvoy ? caFile : ENVOY_CA_FILE,
      accessLog: false,
      // Envoys beside ours are for `serve`; two `run`s on one port would each get a part of its requests.
      exclusivePorts: ownEnvoy,
    },
    logger,
    onFailure: () => metrics.translationFailed(),
    onRun: (state) => {
      const resources = resourcesReport(state)
      metrics.resources(countResources(resources))
      boundHeap(resources.length)
      logProblems(state)
      onRun?.(state)
    },
    startTimer,
  })
  const services = [
    ...createCheckAndProcess({
      publisher,
      pipeline,
      remote,
      callRemote,
      pools,
      bodies: {
        maxBodyBytes: settings.maxBodyBytes,
        heldBytes,
        bodyTimeoutMs: settings.bodyTimeout,
      },
      budget: { steps: settings.ruleSteps, bytes: settings.ruleBytes },
      metrics,
      logger,
      now,
    }),
    ads,
  ]
  const obstacles = (): readonly string[] => unpublished(pipeline.state(), publisher.current())

  return {
    pipeline,
    envoys,
    services,
    unpublished: obstacles,
    refusals: () => refusals(envoys.report()),
    adminSource: (more) => {
      const readiness = () => {
        const reasons = [...obstacles(), ...more()]
        return { ready: reasons.length === 0, reasons }
      }
      return {
        readiness,
        status: () => ({
          ...readiness(),
          ...revision(publisher.current()?.revision, pipeline.state().failure),
          resources: resourcesReport(pipeline.state()),
          envoys: envoys.report(),
          remote: remoteReport(pipeline.state().translation?.wanted ?? [], remote.state(), now()),
        }),
        configDump: () => configDump(publisher.current(), envoys.report()),
        metrics: async () => ({ contentType: metrics.contentType, text: await metrics.text() }),
      }
    },
    async close() {
      pipeline.close()
      names?.close()
      publisher.close()
      await Promise.all([remote.close(), pools.close()])
    },
  }
}

const NONE: readonly string[] = []

const revision = (current: string | undefined, failure: string | undefined) => ({
  ...(current !== undefined && { revision: current }),
  ...(failure !== undefined && { failure }),
})

const startTimer = (callback: () => void, ms: number): (() => void) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
