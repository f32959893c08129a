// The demo's whole stack on loopback: its parties, Gatehouse and its Envoy, from config/demo.

import { type App, type AppDeps, startApp } from '../app.js'
import type { PrivateFolder } from '../app/private-folder.js'
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

export interface DemoStack {
  /** The gateway's, for clients. */
  readonly origin: string
  /** Gatehouse's admin address: HOST:PORT or unix:PATH. */
  readonly admin: string
  /** undefined: there is no Envoy of the demo's own. */
  readonly envoyAdmin: ServerAddress | undefined
  readonly parties: Parties
  /** Where the resources are. */
  readonly folder: string
  /** Resolves when the gateway serves the demo's route; rejects when the signal aborts first. */
  ready(signal: AbortSignal): Promise<void>
}

export interface DemoDeps {
  readonly logger: Logger
  /** Told what takes long. */
  readonly note: (sentence: string) => void
  /** Told what has started, and where it is. */
  readonly started: (party: string, where: string) => void
  /** A provider of the resources in a folder. */
  readonly provider: (folder: string) => ResourceProvider
  readonly onFatal: AppDeps['onFatal']
  /** Ends a start that is under way. */
  readonly stop: AbortSignal
}

/** Collects what has been started, so that a start that fails half-way leaves nothing either. */
export class Demo {
  private app: App | undefined
  private readonly parties: Party[] = []
  private folder: PrivateFolder | undefined

  /** Rejects with a system error (EADDRINUSE), a sentence for a person (no Envoy), or the signal's reason. */
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

  /** There is something to close. */
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

  /** For the sudden end of the process. */
  kill(): void {
    this.app?.kill()
    for (const party of this.parties) party.kill?.()
    this.folder?.removeNow()
  }
}
