// Wires the parts between the provider and the servers: pipeline, remote documents, publisher, services, reports.
// Opens no socket by itself.

import type { EnvoyTokens } from '../../addons/provision/envoy-tokens.js'
import {
  createOutbound,
  type OutboundDeps,
  type OutboundParts,
} from '../../control/fetch/outbound.js'
import { systemCaFile } from '../../control/fetch/system-ca-file.js'
import { Envoys } from '../../control/publish/envoys.js'
import { meshOf } from '../../control/publish/mesh.js'
import {
  createPipeline,
  type Pipeline,
  type PipelineDeps,
  type PipelineState,
} from '../../control/publish/pipeline.js'
import { createProblemLog } from '../../control/publish/problem-log.js'
import {
  createPublisher,
  type Publisher,
  type PublisherDeps,
} from '../../control/publish/publisher.js'
import { xdsOptions } from '../../control/publish/xds-options.js'
import { createTranslator } from '../../control/translate/translator.js'
import { WorkerPool } from '../../control/workers/worker-pool.js'
import type { RemoteStore } from '../../kit/http/remote-store.js'
import type { Logger } from '../../kit/logger.js'
import { timedSlices, type Work } from '../../kit/turns.js'
import type { AdminSource } from '../../ops/admin/admin-server.js'
import type { Metrics } from '../../ops/admin/metrics.js'
import { Exports } from '../../ops/exports/exports.js'
import { defaultHeldBytes } from '../../ops/memory/held-bytes-default.js'
import { createMeasures } from '../../ops/memory/measures.js'
import type { Settings } from '../../ops/settings/settings.js'
import { authenticated } from '../../wire/grpc/authenticated.js'
import type { GrpcService } from '../../wire/grpc/service.js'
import { SnapshotCache } from '../../xds/server/snapshot-cache.js'
import { createAdminSource } from '../report/admin-source.js'
import {
  createResourcesReport,
  refusals,
  type ResourcesReport,
  unpublished,
} from '../report/report.js'
import type { FirstPublication } from '../report/start-report.js'
import { besideOthers, createStateSource, type MeshParts } from '../report/state-source.js'
import { type GrpcListener, servedBy, type Servers, startServers } from '../servers/servers.js'
import {
  createAds,
  createCheckAndProcess,
  type KeySets,
  limitsOf,
  type TableDeps,
} from '../servers/services.js'
import { serveByWorkers } from '../servers/worker-servers.js'
import { followRelayKeys, type RelayKeyOption } from './relay-keys.js'

/** The running parts behind the servers. */
export interface Core {
  readonly pipeline: Pipeline
  readonly envoys: Envoys
  /** Binds the listeners and serves Envoys, in this process or in its workers. */
  serve(listeners: readonly GrpcListener[]): Promise<Servers>
  /** Reasons why no snapshot is published yet; empty: one is. */
  unpublished(): readonly string[]
  /** Configuration that connected Envoys reject (NACK); empty: none. */
  refusals(): readonly string[]
  /** obstacles: reasons for not being ready that the core does not know. */
  adminSource(obstacles: () => readonly string[]): AdminSource
  close(): Promise<void>
}

/** What the parts are created with. */
export interface CoreDeps {
  readonly logger: Logger
  /** Whether Envoy is a child process, on this machine. */
  readonly ownEnvoy: boolean
  /** The controller of a mesh. */
  readonly mesh?: MeshParts | undefined
  /** Knows Envoys by their tokens; absent: no client needs one. */
  readonly tokens?: EnvoyTokens | undefined
  /** Called when a snapshot is in force in every process that answers Envoys. */
  readonly onPublished: () => void
  /** Called after every run of the pipeline. */
  readonly onRun?: ((state: PipelineState) => void) | undefined
  /** Number of open connections of Envoys. */
  readonly connections: () => number
  /** Called once, after the first snapshot is published. */
  readonly onFirst?: ((first: FirstPublication) => Work<void>) | undefined
}

/** Creates the parts and connects them. */
export function createCore(settings: Settings, deps: CoreDeps): Core {
  const { logger, ownEnvoy, tokens } = deps
  const { heldBytes, messages, onRefused, metrics } = createMeasures(settings)
  const [envoys, cache, report] = [new Envoys(), new SnapshotCache(), createResourcesReport()]
  const trust = { loopback: !settings.kubernetes }
  const ads = createAds({ cache, envoys, metrics, logger, now, trust, tokens })
  const keySets = keySetsOf(() => ({ remote, pipeline }))
  const workers = createWorkers(settings, { ads, metrics, deps, ...keySets })
  const publisher = createPublisher(publishing({ ads, cache, metrics, workers, deps }))
  const exports = createExports(settings, metrics, workers, logger)
  const caFile = systemCaFile(settings.environment)
  const outbound = createOutbound(settings, {
    ...outboundFor(() => pipeline, exports, workers),
    caFile,
    logger,
    metrics,
  })
  const { remote, names } = outbound
  const keys = followRelayKeys(settings, { logger, onChange: () => pipeline.remoteChanged() })
  const pipeline: Pipeline = createPipeline({
    translator: translatorOf(settings, outbound, keys.option, workers),
    remote,
    names,
    publisher,
    logger,
    startTimer,
    rememberedTokens: settings.rememberedTokens,
    slice: timedSlices(() => performance.now()),
    options: xdsOptions(settings, ownEnvoy, caFile),
    onFailure: () => metrics.translationFailed(),
    onRun: reportRuns(settings, deps, () => ({ publisher, remote, report })),
  })
  const read = { pipeline, report, envoys, remote, ...besideOthers(settings, envoys, deps) }
  metrics.state(createStateSource({ ...read, mesh: deps.mesh, tokens }))
  const obstacles = (): readonly string[] => unpublished(pipeline.state(), publisher.current())
  const late = (): readonly string[] => workers?.obstacles() ?? NONE
  const parts = { ...read, publisher, keySets, metrics, workers, now }
  const shown = { ...parts, settings, recent: exports.recent }
  const limits = limitsOf(settings, heldBytes)
  const own = (): readonly GrpcService[] =>
    servicesOf(deps, exports, { tables: publisher, keySets, metrics, ...limits, ...outbound })
  return {
    pipeline,
    envoys,
    serve: async (listeners) => {
      await exports.start()
      if (workers !== undefined) return serveByWorkers(workers, listeners, logger, onRefused)
      const served = { logger, messages, onRefused, tokens }
      return startServers(servedBy([...own(), ads], listeners, served))
    },
    unpublished: obstacles,
    refusals: () => refusals(envoys.report()),
    adminSource: (more) => createAdminSource(shown, () => [...obstacles(), ...late(), ...more()]),
    async close() {
      for (const one of [keys, pipeline, publisher]) one.close()
      await Promise.all([outbound.close(), workers?.close(), exports.close()])
    },
  }
}

/** Returns what outgoing calls need of the other parts. */
const outboundFor = (
  pipeline: () => Pipeline,
  exports: Exports,
  workers: WorkerPool | undefined,
): Omit<OutboundDeps, 'caFile' | 'logger' | 'metrics'> => ({
  now,
  startTimer,
  tracer: () => exports.tracer,
  ownAddresses: () => pipeline().state().translation?.ownAddresses ?? NONE,
  onChange: () => pipeline().remoteChanged(),
  onAnswer: (id, answers) => workers?.keySetAnswered(id, answers),
})

/** Creates the services that Envoy asks, in this process. */
const servicesOf = (
  { tokens, logger, mesh }: CoreDeps,
  { decisions, tracer }: Exports,
  parts: Omit<TableDeps, 'decisions' | 'tracer' | 'tokens' | 'logger' | 'now' | 'probes'>,
): readonly GrpcService[] =>
  createCheckAndProcess({
    decisions,
    tracer,
    tokens,
    logger,
    now,
    probes: mesh?.probes,
    ...parts,
  })

/** Creates the exports of this process, which include the metrics of all processes. */
const createExports = (
  settings: Settings,
  metrics: Metrics,
  workers: WorkerPool | undefined,
  logger: Logger,
): Exports =>
  new Exports(settings, {
    logger,
    metrics,
    now,
    readMetrics: async () => metrics.merged((await workers?.metrics()) ?? []),
  })

const now = (): number => Date.now()

interface PublishedParts {
  readonly ads: ReturnType<typeof createAds>
  readonly cache: SnapshotCache
  readonly metrics: Metrics
  readonly workers: WorkerPool | undefined
  readonly deps: Pick<CoreDeps, 'onPublished'>
}

const publishing = ({ ads, cache, metrics, workers, deps }: PublishedParts): PublisherDeps => ({
  cache: {
    set(xds) {
      cache.set(xds)
      deps.onPublished()
    },
  },
  others: workers,
  onRoutesGone: (routes) => void metrics.forgetRoutes(routes),
  settled: () => ads.settled(),
  now,
  startTimer,
})

/** parts: those created later. A refetch flushes the pipeline: a waiting check must find the new keys in the table. */
const keySetsOf = (
  parts: () => { readonly remote: RemoteStore; readonly pipeline: Pipeline },
): KeySets => ({
  async refetchKeySet(id) {
    const { remote, pipeline } = parts()
    const fetched = await remote.refetch(id)
    await pipeline.flush()
    return fetched
  },
  keySetAnswers: (id) => parts().remote.answers(id),
})

interface WorkerParts extends KeySets {
  readonly ads: GrpcService
  readonly metrics: Metrics
  readonly deps: Pick<CoreDeps, 'logger' | 'mesh' | 'tokens'>
}

/** Returns undefined for one worker: this process answers itself. */
function createWorkers(settings: Settings, parts: WorkerParts): WorkerPool | undefined {
  if (settings.workers === 1) return undefined
  const { ads, metrics, refetchKeySet, keySetAnswers } = parts
  const { logger, mesh, tokens } = parts.deps
  const workers = new WorkerPool({
    settings,
    logger,
    heldBytes: settings.heldBytes ?? defaultHeldBytes(),
    services: [tokens ? authenticated(ads, tokens) : ads],
    tokens,
    refetchKeySet: async (id) => ({ ...(await refetchKeySet(id)), answers: keySetAnswers(id) }),
    onRestart: () => metrics.workerEnded(),
  })
  mesh?.followSecret((secret) => workers.setProbeSecret(secret))
  return workers
}

/** Workers are sent the addresses of Gatehouse's Service before any table that could lead there. */
function translatorOf(
  settings: Settings,
  { tenancy }: OutboundParts,
  relayKeys: RelayKeyOption,
  workers: WorkerPool | undefined,
): PipelineDeps['translator'] {
  const translator = createTranslator({
    apiGroup: settings.apiGroup,
    clusterDomain: settings.clusterDomain,
    metadataIssuer: settings.metadataIssuer === 'gateway' ? 'Gateway' : 'Provider',
    mcpProtocolVersion: settings.mcpProtocolVersion,
    mcpBodyBytes: settings.mcpBodyBytes,
    requirePolicy: settings.requirePolicy,
    rateLimitBuckets: settings.rateLimitBuckets,
    ...relayKeys,
    ...meshOf(settings),
    isCluster: settings.kubernetes,
    provisions: settings.provision,
    ...(settings.given.has('sharedEnvoys') && { sharesEnvoys: settings.sharedEnvoys }),
    ...(tenancy && { tenancy }),
  })
  if (workers === undefined) return translator
  return {
    *translationWork(...inputs) {
      const translation = yield* translator.translationWork(...inputs)
      workers.setOwnAddresses(translation.ownAddresses)
      return translation
    },
  }
}

interface Published {
  readonly report: ResourcesReport
  readonly publisher: Pick<Publisher, 'current'>
  readonly remote: Pick<RemoteStore, 'state'>
}

/** Updates what follows each run, besides what it publishes: the log. */
function reportRuns(
  { kubernetes }: Settings,
  { logger, onRun, onFirst }: CoreDeps,
  published: () => Published,
): (state: PipelineState) => Work<void> {
  const logProblems = createProblemLog(logger, kubernetes)
  let wasPublished = false
  return function* (state) {
    yield* logProblems(state)
    onRun?.(state)
    if (wasPublished || onFirst === undefined) return
    const { publisher, remote, report } = published()
    const snapshot = publisher.current()
    if (snapshot === undefined) return
    wasPublished = true
    const resources = () => report(state)
    yield* onFirst({ snapshot, state, remote: remote.state(), resources })
  }
}

const NONE: readonly string[] = []

function startTimer(callback: () => void, ms: number): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
