// Starts a real Envoy with the static configuration translated from an Ir, without a Gatehouse.

import { startEnvoy } from '../../src/cli/run-envoy/child.js'
import { waitUntilLive } from '../../src/cli/run-envoy/wait-until-live.js'
import type { Logger } from '../../src/kit/logger.js'
import type { Ir } from '../../src/model/ir.js'
import { bootstrapJson } from '../../src/xds/bootstrap/bootstrap.js'
import type { GatehouseAddress } from '../../src/xds/bootstrap/gatehouse-clusters.js'
import { buildStaticConfig } from '../../src/xds/bootstrap/static-config.js'
import type { XdsOptions } from '../../src/xds/translator/xds-resources.js'
import { freePort } from '../../testing/ports.js'
import { envoyPath } from './envoy.js'

export interface TranslatedEnvoy {
  readonly adminOrigin: string
  close(): Promise<void>
}

export interface TranslatedEnvoyOptions extends Partial<XdsOptions> {
  /** Address of ext_authz and ext_proc; by default nothing listens there. */
  readonly gatehouse?: GatehouseAddress
}

const NOBODY: GatehouseAddress = { type: 'unix', path: '/nonexistent/gatehouse.sock' }

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Resolves when the Envoy's listeners are active. */
export async function startTranslated(
  ir: Ir,
  { gatehouse = NOBODY, ...xds }: TranslatedEnvoyOptions = {},
): Promise<TranslatedEnvoy> {
  const admin = { type: 'tcp', host: '127.0.0.1', port: await freePort() } as const
  const adminOrigin = `http://127.0.0.1:${String(admin.port)}`
  const bootstrap = buildStaticConfig(ir, {
    xds: {
      listenAddress: '127.0.0.1',
      trustedHops: 0,
      systemCaFile: '/etc/ssl/certs/ca-certificates.crt',
      accessLog: false,
      ...xds,
    },
    connection: { address: gatehouse },
    envoyAdmin: admin,
    certificates: 'inline',
  })
  const child = await startEnvoy({
    envoyPath: envoyPath(),
    bootstrap: bootstrapJson(bootstrap),
    logger: silent,
    concurrency: 1,
  })
  await waitUntilLive(child, admin, 20_000)
  return { adminOrigin, close: async () => void (await child.stop()) }
}
