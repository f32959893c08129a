// Composition root: provider → translate → publish → servers, and an Envoy of our own under `run`.
// close() undoes it in the order in which work under way can still finish.

import { setTimeout as delay } from 'node:timers/promises'
import { type AdminServers, startAdminServers } from './app/admin-servers.js'
import { type ClosedServer, startClosedServer } from './app/closed-server.js'
import { type Core, type CoreDeps, createCore } from './app/core.js'
import type { EnvoyProcess } from './app/envoy-process.js'
import { envoyAdminOf, startOwnEnvoy } from './app/own-envoy.js'
import { ownListeners } from './app/own-listeners.js'
import { createPrivateFolder, type PrivateFolder } from './app/private-folder.js'
import type { GrpcListener, Servers } from './app/servers.js'
import { untilAborted } from './app/until-aborted.js'
import type { Keeper } from './envoy/keeper.js'
import type { Logger } from './logger.js'
import type { ResourceProvider } from './resources/kinds/resources.js'
import type { Settings } from './settings.js'
import type { ServerAddress } from './settings/values.js'

export interface AppDeps {
  readonly logger: Logger
  readonly provider: ResourceProvider
  /** Present: with an Envoy of our own (run, demo), which it ends with us. */
  readonly keeper?: Keeper | undefined
  /** Ends a start that is under way. */
  readonly stop: AbortSignal
  /** Told of every run of the pipeline. */
  readonly onRun?: CoreDeps['onRun']
  /** Something that the process cannot go on without has failed; close() is still to be called. */
  onFatal(error: Error): void
}

export interface App {
  /** As bound. */
  readonly admin: string
  /** Where our own Envoy is asked; absent: there is none. */
  readonly envoyAdmin: ServerAddress | undefined
  /** --grpc as bound; absent: it is not. */
  readonly grpc?: string
  /** Drains and closes everything. */
  close(): Promise<void>
  /** For the sudden end of the process: leaves no child behind. */
  kill(): void
}

/** How long a start that was told to stop waits for what it has begun; the keeper sees to the rest. */
const ABANDON_MS = 300

/**
 * Rejects with a sentence for a person when an address is taken or there is no Envoy, and with its reason when deps.stop
 * aborts; nothing is left open then.
 */
export async function startApp(settings: Settings, deps: AppDeps): Promise<App> {
  const app = new RunningApp(settings, deps)
  try {
    await untilAborted(app.start(), deps.stop)
  } catch (error) {
    const closed = app.closeAll()
    await (deps.stop.aborted ? Promise.race([closed, delay(ABANDON_MS)]) : closed)
    throw error
  }
  return app
}

class RunningApp implements App {
  private readonly core: Core
  private adminServers: AdminServers | undefined
  private folder: PrivateFolder | undefined
  private servers: Servers | undefined
  private closed: ClosedServer | undefined
  private envoy: EnvoyProcess | undefined
  private draining = false

  constructor(
    private readonly settings: Settings,
    private readonly deps: AppDeps,
  ) {
    this.core = createCore(settings, { ...deps, ownEnvoy: deps.keeper !== undefined })
  }

  get admin(): string {
    return this.adminServers?.address ?? ''
  }

  get envoyAdmin(): ServerAddress | undefined {
    return this.folder && envoyAdminOf(this.settings, this.folder.path)
  }

  get grpc(): string | undefined {
    const isBound = this.deps.keeper === undefined || this.settings.given.has('grpc')
    return isBound ? this.servers?.addresses.at(0) : undefined
  }

  async start(): Promise<void> {
    const { logger, keeper, provider, stop } = this.deps
    const source = this.core.adminSource(() => this.obstacles())
    this.adminServers = await startAdminServers(this.settings, source, logger)
    if (keeper !== undefined) {
      this.folder = await createPrivateFolder('run')
      keeper.keepFolder(this.folder.path)
    }
    stop.throwIfAborted()
    this.servers = await this.core.serve(this.listeners())
    const { closed } = this.settings
    if (closed !== undefined) this.closed = await startClosedServer(closed)
    stop.throwIfAborted()
    const { status } = this.adminServers
    logger.info({ admin: this.admin, status, grpc: this.grpc }, 'Gatehouse listens')
    // Envoy takes as long to start as the resources to be read.
    await Promise.all([
      this.startEnvoy(),
      provider.start((state) => this.core.pipeline.resourcesChanged(state)),
    ])
  }

  private async startEnvoy(): Promise<void> {
    const { logger, keeper, stop } = this.deps
    if (this.folder === undefined || keeper === undefined) return
    this.envoy = await startOwnEnvoy(this.settings, {
      folder: this.folder.path,
      keeper,
      stop,
      logger,
      accepted: (nodeId) =>
        this.core.unpublished().length === 0 && this.core.envoys.hasAccepted(nodeId),
      onHopeless: (error) => this.deps.onFatal(error),
    })
    if (stop.aborted) this.envoy.kill()
  }

  private listeners(): readonly GrpcListener[] {
    const { grpc, given, grpcTlsCert, grpcTlsKey, grpcClientCa, workers } = this.settings
    const tls =
      grpcTlsCert === undefined || grpcTlsKey === undefined
        ? undefined
        : { cert: grpcTlsCert, key: grpcTlsKey, ...(grpcClientCa && { clientCa: grpcClientCa }) }
    const open = { address: grpc, ...(tls && { tls }) }
    if (this.folder === undefined) return [open]
    // Our own Envoy comes over sockets; --grpc is for others, and bound only when somebody asks for it.
    const own = ownListeners(this.folder.path, workers)
    return given.has('grpc') ? [open, ...own] : own
  }

  private obstacles(): readonly string[] {
    if (this.draining) return ['draining']
    if (this.deps.keeper === undefined) return []
    if (this.envoy === undefined) return ['Envoy is starting']
    const obstacle = this.envoy.obstacle()
    return obstacle === undefined ? [] : [obstacle, ...this.core.refusals()]
  }

  async close(): Promise<void> {
    const { drainTimeout } = this.settings
    const deadline = Date.now() + drainTimeout
    this.draining = true
    this.deps.logger.info({ drainTimeoutMs: drainTimeout }, 'draining')
    this.servers?.setServing(false)
    await this.deps.provider.close()
    if (this.envoy !== undefined) await this.envoy.drain(drainTimeout)
    else if (this.core.envoys.anyConnected()) await delay(Math.min(NOTICED_MS, drainTimeout / 2))
    await this.envoy?.stop()
    await this.servers?.drain(Math.max(0, deadline - Date.now()))
    await this.closeAll()
    this.deps.logger.info({}, 'closed')
  }

  /** Without waiting for any work. */
  async closeAll(): Promise<void> {
    await this.deps.provider.close()
    await this.envoy?.stop()
    await this.servers?.close()
    await this.closed?.close()
    await this.core.close()
    await this.adminServers?.close()
    await this.folder?.remove()
  }

  kill(): void {
    this.envoy?.kill()
    this.folder?.removeNow()
  }
}

// Envoy asks for our health every 2 s and leaves us after two answers: requests go to another replica from then on.
const NOTICED_MS = 5_000
