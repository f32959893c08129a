// Composition root: wires provider, translation, publisher and servers, and an Envoy child under `run`. close() shuts
// them down in an order that lets requests in progress finish.

import { setTimeout as delay } from 'node:timers/promises'
import type { ResourceProvider } from '../../control/schema/kinds/resources.js'
import type { Logger } from '../../kit/logger.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { ServerAddress } from '../../ops/settings/values.js'
import { createStartScreen, type StartAddresses, type Terminal } from '../report/start-report.js'
import type { EnvoyProcess } from '../run-envoy/envoy-process.js'
import type { Keeper } from '../run-envoy/keeper.js'
import { envoyAdminOf, startOwnEnvoy } from '../run-envoy/own-envoy.js'
import { ownListeners } from '../run-envoy/own-listeners.js'
import { createPrivateFolder, type PrivateFolder } from '../run-envoy/private-folder.js'
import { type AdminServers, startAdminServers } from '../servers/admin-servers.js'
import { type ClosedServer, startClosedServer } from '../servers/closed-server.js'
import type { GrpcListener, Servers } from '../servers/servers.js'
import { type Core, type CoreDeps, createCore } from './core.js'
import { untilAborted } from './until-aborted.js'

/** What Gatehouse is started with. */
export interface AppDeps {
  readonly logger: Logger
  readonly provider: ResourceProvider
  /** Ends Envoy when this process ends. Present: with an Envoy child (run, demo). */
  readonly keeper?: Keeper | undefined
  /** Aborts a start in progress. */
  readonly stop: AbortSignal
  /** Called after every run of the pipeline. */
  readonly onRun?: CoreDeps['onRun']
  readonly mesh?: CoreDeps['mesh']
  readonly tokens?: CoreDeps['tokens']
  /** Where to show what is served once it is; absent: nowhere. */
  readonly terminal?: Terminal | undefined
  /** Called when something that the process needs has failed; close() must still be called. */
  onFatal(error: Error): void
}

/** A running Gatehouse. */
export interface App {
  /** Admin address as bound. */
  readonly admin: string
  /** Admin address of the Envoy child; absent if there is none. */
  readonly envoyAdmin: ServerAddress | undefined
  /** Address of --grpc as bound; absent if it is not bound. */
  readonly grpc?: string
  /** Drains and closes everything. */
  close(): Promise<void>
  /** Ends Envoy and removes the private folder synchronously, for a sudden end of the process. */
  kill(): void
}

/** How long an aborted start waits while closing what it has started; the keeper cleans up the rest. */
const ABANDON_MS = 300

/**
 * Rejects with a message for a person when an address is in use or no Envoy is found, and with the signal's reason when
 * deps.stop aborts; nothing is left open then.
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
  readonly #core: Core
  #adminServers: AdminServers | undefined
  #folder: PrivateFolder | undefined
  #servers: Servers | undefined
  #closed: ClosedServer | undefined
  #envoy: EnvoyProcess | undefined
  #draining = false

  constructor(
    private readonly settings: Settings,
    private readonly deps: AppDeps,
  ) {
    const { terminal, logger } = deps
    const addresses = (): StartAddresses => this.#addresses()
    this.#core = createCore(settings, {
      ...deps,
      ownEnvoy: deps.keeper !== undefined,
      onPublished: () => this.#published(),
      connections: () => this.#servers?.connections() ?? 0,
      ...(terminal && { onFirst: createStartScreen({ terminal, settings, logger, addresses }) }),
    })
  }

  get admin(): string {
    return this.#adminServers?.address ?? ''
  }

  get envoyAdmin(): ServerAddress | undefined {
    return this.#folder && envoyAdminOf(this.settings, this.#folder.path)
  }

  get grpc(): string | undefined {
    const isBound = this.deps.keeper === undefined || this.settings.given.has('grpc')
    return isBound ? this.#servers?.addresses.at(0) : undefined
  }

  #addresses(): StartAddresses {
    const { admin, envoyAdmin, grpc } = this
    return { admin, envoyAdmin, grpc, status: this.#adminServers?.status }
  }

  async start(): Promise<void> {
    const { logger, keeper, provider, stop } = this.deps
    const source = this.#core.adminSource(() => this.#obstacles())
    this.#adminServers = await startAdminServers(this.settings, source, logger)
    if (keeper !== undefined) {
      this.#folder = await createPrivateFolder('run')
      keeper.keepFolder(this.#folder.path)
    }
    stop.throwIfAborted()
    this.#servers = await this.#core.serve(this.#listeners())
    const { closed } = this.settings
    if (closed !== undefined) this.#closed = await startClosedServer(closed)
    stop.throwIfAborted()
    const { status } = this.#adminServers
    logger.info({ admin: this.admin, status, grpc: this.grpc }, 'Gatehouse listens')
    // In parallel: Envoy takes as long to start as the resources take to be read.
    await Promise.all([
      this.#startEnvoy(),
      provider.start((state) => this.#core.pipeline.resourcesChanged(state)),
    ])
  }

  async #startEnvoy(): Promise<void> {
    const { logger, keeper, stop } = this.deps
    if (this.#folder === undefined || keeper === undefined) return
    this.#envoy = await startOwnEnvoy(this.settings, {
      folder: this.#folder.path,
      keeper,
      stop,
      logger,
      accepted: (nodeId) =>
        this.#core.unpublished().length === 0 && this.#core.envoys.hasAccepted(nodeId),
      onHopeless: (error) => this.deps.onFatal(error),
    })
    if (stop.aborted) this.#envoy.kill()
  }

  #listeners(): readonly GrpcListener[] {
    const { grpc, given, grpcTlsCert, grpcTlsKey, grpcClientCa, workers } = this.settings
    const tls =
      grpcTlsCert === undefined || grpcTlsKey === undefined
        ? undefined
        : {
            cert: grpcTlsCert,
            key: grpcTlsKey,
            ...(grpcClientCa && { clientCa: grpcClientCa }),
            acceptsTokens: this.deps.tokens !== undefined,
          }
    const open = { address: grpc, ...(tls && { tls }) }
    if (this.#folder === undefined) return [open]
    // The Envoy child connects over sockets; --grpc is for other Envoys and only bound if it is given.
    const own = ownListeners(this.#folder.path, workers)
    return given.has('grpc') ? [open, ...own] : own
  }

  #published(): void {
    if (!this.#draining) this.#servers?.setServing(true)
  }

  #obstacles(): readonly string[] {
    if (this.#draining) return ['draining']
    if (this.deps.keeper === undefined) return []
    if (this.#envoy === undefined) return ['Envoy is starting']
    const obstacle = this.#envoy.obstacle()
    return obstacle === undefined ? [] : [obstacle, ...this.#core.refusals()]
  }

  async close(): Promise<void> {
    const { drainTimeout } = this.settings
    const deadline = Date.now() + drainTimeout
    this.#draining = true
    this.deps.logger.info({ drainTimeoutMs: drainTimeout }, 'draining')
    this.#servers?.setServing(false)
    await this.deps.provider.close()
    if (this.#envoy !== undefined) await this.#envoy.drain(drainTimeout)
    else if ((this.#servers?.connections() ?? 0) > 0)
      await delay(Math.min(NOTICED_MS, drainTimeout / 2))
    await this.#envoy?.stop()
    await this.#servers?.drain(Math.max(0, deadline - Date.now()))
    await this.closeAll()
    this.deps.logger.info({}, 'closed')
  }

  /** Closes everything without waiting for requests in progress. */
  async closeAll(): Promise<void> {
    await this.deps.provider.close()
    await this.#envoy?.stop()
    await this.#servers?.close()
    await this.#closed?.close()
    await this.#core.close()
    await this.#adminServers?.close()
    await this.#folder?.remove()
  }

  kill(): void {
    this.#envoy?.kill()
    this.#folder?.removeNow()
  }
}

// Time for Envoys to notice the shutdown: they check health every 2 s and after two failures use another replica. Their
// ADS streams may all be with another replica.
const NOTICED_MS = 5_000
