// Starts the demo's whole stack on loopback from config/demo: its parties, Gatehouse and its Envoy.

import { type App, type AppDeps, startApp } from '../app.js'
import type { PrivateFolder } from '../app/run/private-folder.js'
import { untilAborted } from '../app/until-aborted.js'
import { findEnvoy } from '../envoy/find-envoy.js'
import { startKeeper } from '../envoy/keeper.js'
import type { CommandTies } from '../envoy/run-command.js'
import type { Logger } from '../logger.js'
import type { ResourceProvider } from '../resources/kinds/resources.js'
import type { Settings } from '../settings.js'
import type { ServerAddress } from '../settings/values.js'
import { createDemoFolder } from './demo-folder.js'
import { type DemoValues, originOf } from './demo-resources.js'
import { type Parties, type Party, startParties } from './parties.js'
import { findPartyPackages } from './party-packages.js'
import { appSettings, gatewayAddress } from './stack-settings.js'
import { untilServing } from './until-serving.js'

/** The running demo. */
export interface DemoStack {
  /** Origin of the gateway, for clients. */
  readonly origin: string
  /** Gatehouse's admin address: HOST:PORT or unix:PATH. */
  readonly admin: string
  /** Admin address of the demo's Envoy; undefined if it has none. */
  readonly envoyAdmin: ServerAddress | undefined
  readonly parties: Parties
  /** Folder with the resources. */
  readonly folder: string
  /** Resolves when the gateway serves the demo's routes; rejects when the signal aborts first. */
  ready(signal: AbortSignal): Promise<void>
}

/** What the demo is started with. */
export interface DemoDeps {
  readonly logger: Logger
  /** Called with notes about slow steps. */
  readonly note: (sentence: string) => void
  /** Called with the name and the place of each party that has started. */
  readonly started: (party: string, where: string) => void
  /** Creates a provider for the resources in a folder. */
  readonly provider: (folder: string) => ResourceProvider
  readonly onFatal: AppDeps['onFatal']
  /** Aborts a start in progress. */
  readonly stop: AbortSignal
}

/** Keeps track of what has been started, for close() to clean up even a start that failed half-way. */
export class Demo {
  private app: App | undefined
  private readonly parties: Party[] = []
  private folder: PrivateFolder | undefined

  /** Rejects with a system error (EADDRINUSE), a message for a person (no Envoy), or the signal's reason. */
  start(settings: Settings, deps: DemoDeps): Promise<DemoStack> {
    return untilAborted(this.begin(settings, deps), deps.stop)
  }

  private async begin(settings: Settings, deps: DemoDeps): Promise<DemoStack> {
    const { stop, logger } = deps
    const keeper = startKeeper(logger)
    const gateway = await gatewayAddress(settings)
    const { environment } = settings
    const ties: CommandTies = { signal: stop, keep: (child) => keeper.keep(child) }
    const packages = await findPartyPackages({ environment, note: deps.note, ...ties })
    const explicit = settings.envoy
    const envoy = await findEnvoy({
      ...(explicit !== undefined && { explicit }),
      ...{ environment, onNote: deps.note, ...ties },
    })
    const parties = await startParties((name, where, party) => {
      this.parties.push(party)
      if (stop.aborted) void party.close()
      stop.throwIfAborted()
      deps.started(name, where)
    }, packages)
    const { identityProvider, mcpServer, llm, guardrailWebhook } = parties
    const values: DemoValues = {
      ports: {
        gateway: gateway.port,
        identityProvider: identityProvider.port,
        mcpServer: mcpServer.port,
        llm: llm.port,
        guardrailWebhook: guardrailWebhook.port,
      },
      gatewayHost: gateway.host,
      apiGroup: settings.apiGroup,
    }
    const folder = (this.folder = await createDemoFolder(values))
    keeper.keepFolder(folder.path)
    stop.throwIfAborted()
    const own = await appSettings({ ...settings, envoy, resources: [folder.path] })
    const app = (this.app = await startApp(own, {
      logger,
      provider: deps.provider(folder.path),
      keeper,
      stop,
      onFatal: deps.onFatal,
    }))
    const origin = originOf('gateway', values)
    return {
      origin,
      admin: app.admin,
      envoyAdmin: app.envoyAdmin,
      parties,
      folder: folder.path,
      ready: (signal) => untilServing(origin, app.admin, signal),
    }
  }

  /** Whether there is something to close. */
  get isUp(): boolean {
    return this.parties.length > 0
  }

  async close(): Promise<void> {
    try {
      await this.app?.close()
    } finally {
      await Promise.all([...this.parties.map((party) => party.close()), this.folder?.remove()])
    }
  }

  /** Ends everything without waiting, for a sudden end of the process. */
  kill(): void {
    this.app?.kill()
    for (const party of this.parties) party.kill?.()
    this.folder?.removeNow()
  }
}
