// The demo's whole stack on loopback: identity provider, MCP server, Gatehouse and its Envoy, from config/demo.

import { startApp, type App, type AppDeps } from '../app.js'
import { findEnvoy } from '../envoy/find-envoy.js'
import type { Logger } from '../logger.js'
import type { Provider } from '../resources/resources.js'
import type { Settings } from '../settings.js'
import { createDemoFolder, type DemoFolder } from './demo-folder.js'
import { CONFIG_PORTS, DEMO_IDP } from './demo-parties.js'
import { startIdentityProvider, type IdentityProvider } from './identity-provider.js'
import { loopbackPort } from './loopback-port.js'
import { startMcpServer, type McpServer } from './mcp-server.js'

const READY_POLL_MS = 50

export interface DemoStack {
  /** The gateway's origin. */
  readonly origin: string
  /** Gatehouse's admin address, HOST:PORT. */
  readonly admin: string
  readonly envoyAdminPort: number
  readonly identityProvider: IdentityProvider
  readonly folder: DemoFolder
  /** Resolves when Envoy serves the demo's configuration; rejects when the signal aborts first. */
  ready(signal: AbortSignal): Promise<void>
}

export interface DemoDeps {
  readonly logger: Logger
  /** Told what takes long. */
  readonly note: (sentence: string) => void
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
    const port = await loopbackPort(settings.port ?? CONFIG_PORTS.gateway)
    const envoyAdminPort = settings.given.has('envoyAdmin')
      ? settings.envoyAdmin.port
      : await loopbackPort(0)
    const envoy = await findEnvoy({
      ...(settings.envoy !== undefined && { explicit: settings.envoy }),
      environment: settings.environment,
      onNote: deps.note,
    })
    const identityProvider = (this.identityProvider = await startIdentityProvider(DEMO_IDP))
    const mcpServer = (this.mcpServer = await startMcpServer())
    const ports = {
      gateway: port,
      identityProvider: identityProvider.port,
      mcpServer: mcpServer.port,
    }
    const folder = (this.folder = await createDemoFolder({ ports, apiGroup: settings.apiGroup }))
    const app = (this.app = await startApp(
      {
        ...settings,
        envoy,
        envoyAdmin: { ...settings.envoyAdmin, port: envoyAdminPort },
        resources: [folder.resources],
        listenAddress: settings.given.has('listenAddress') ? settings.listenAddress : '127.0.0.1',
      },
      {
        logger: deps.logger,
        provider: deps.provider(folder.resources),
        ownEnvoy: true,
        onFatal: deps.onFatal,
      },
    ))
    return {
      origin: `http://127.0.0.1:${String(port)}`,
      admin: app.admin,
      envoyAdminPort,
      identityProvider,
      folder,
      ready: (signal) => untilReady(app.admin, signal),
    }
  }

  async close(): Promise<void> {
    await this.app?.close()
    await this.mcpServer?.close()
    await this.identityProvider?.close()
    await this.folder?.remove()
  }

  /** For the sudden end of the process. */
  kill(): void {
    this.app?.kill()
    this.mcpServer?.kill()
    this.folder?.removeNow()
  }
}

async function untilReady(admin: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { ok } = await fetch(`http://${admin}/readyz`, { signal })
    if (ok) return
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS))
  }
}
