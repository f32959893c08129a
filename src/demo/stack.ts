// The demo's whole stack on loopback: identity provider, MCP server, Gatehouse and its Envoy, from config/demo.

import { startApp, type App, type AppDeps } from '../app.js'
import { findEnvoy } from '../envoy/find-envoy.js'
import type { Logger } from '../logger.js'
import type { Provider } from '../resources/resources.js'
import type { Settings } from '../settings.js'
import { createDemoFolder, type DemoFolder } from './demo-folder.js'
import { CONFIG_PORTS, DEMO_IDP } from './demo-parties.js'
import { originOf, type DemoValues } from './demo-resources.js'
import { aPort } from './free-port.js'
import { startIdentityProvider, type IdentityProvider } from './identity-provider.js'
import { startMcpServer, type McpServer } from './mcp-server.js'
import { appSettings, gatewayAddress } from './stack-settings.js'
import { untilServing } from './until-serving.js'

export interface DemoStack {
  /** The gateway's, for clients. */
  readonly origin: string
  /** Gatehouse's admin address: HOST:PORT or unix:PATH. */
  readonly admin: string
  /** HOST:PORT */
  readonly envoyAdmin: string
  readonly identityProvider: IdentityProvider
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
  readonly provider: (folder: string) => Provider
  readonly onFatal: AppDeps['onFatal']
}

/** Collects what has been started, so that a start that fails half-way leaves nothing either. */
export class Demo {
  private app: App | undefined
  private identityProvider: IdentityProvider | undefined
  private mcpServer: McpServer | undefined
  private folder: DemoFolder | undefined

  /** Rejects with a system error (EADDRINUSE) or a sentence for a person (no Envoy). */
  async start(settings: Settings, deps: DemoDeps): Promise<DemoStack> {
    const gateway = await gatewayAddress(settings)
    const envoy = await findEnvoy({
      ...(settings.envoy !== undefined && { explicit: settings.envoy }),
      environment: settings.environment,
      onNote: deps.note,
    })
    const { identityProvider, mcpServer } = await this.startParties(deps)
    const values: DemoValues = {
      ports: {
        gateway: gateway.port,
        identityProvider: identityProvider.port,
        mcpServer: mcpServer.port,
      },
      gatewayHost: gateway.host,
      apiGroup: settings.apiGroup,
    }
    const folder = (this.folder = await createDemoFolder(values))
    const own = await appSettings({ ...settings, envoy, resources: [folder.path] })
    const app = (this.app = await startApp(own, {
      logger: deps.logger,
      provider: deps.provider(folder.path),
      ownEnvoy: true,
      onFatal: deps.onFatal,
    }))
    const origin = originOf('gateway', values)
    return {
      origin,
      admin: app.admin,
      envoyAdmin: `${own.envoyAdmin.host}:${String(own.envoyAdmin.port)}`,
      identityProvider,
      folder: folder.path,
      ready: (signal) => untilServing(origin, app.admin, signal),
    }
  }

  private async startParties({ started }: DemoDeps): Promise<{
    readonly identityProvider: IdentityProvider
    readonly mcpServer: McpServer
  }> {
    const identityProvider = (this.identityProvider = await startIdentityProvider({
      ...DEMO_IDP,
      port: await aPort(CONFIG_PORTS.identityProvider),
    }))
    started('identity provider', identityProvider.issuer)
    const mcpServer = (this.mcpServer = await startMcpServer(await aPort(CONFIG_PORTS.mcpServer)))
    started('MCP server', `http://${mcpServer.host}:${String(mcpServer.port)}/mcp`)
    return { identityProvider, mcpServer }
  }

  /** There is something to close. */
  get isUp(): boolean {
    return this.identityProvider !== undefined
  }

  async close(): Promise<void> {
    try {
      await this.app?.close()
    } finally {
      await Promise.all([
        this.mcpServer?.close(),
        this.identityProvider?.close(),
        this.folder?.remove(),
      ])
    }
  }

  /** For the sudden end of the process. */
  kill(): void {
    this.app?.kill()
    this.mcpServer?.kill()
    this.folder?.removeNow()
  }
}
