// Settings of `run` and `demo` → an Envoy of our own that reaches us over a Unix socket.

import { findEnvoy } from '../envoy/find-envoy.js'
import type { Logger } from '../logger.js'
import { formatAddress } from '../settings/values.js'
import type { Settings } from '../settings.js'
import { buildBootstrap } from '../xds/bootstrap/bootstrap.js'
import { EVERY_GATEWAY } from '../xds/translator/xds-resources.js'
import { runEnvoy, type EnvoyProcess } from './envoy-process.js'

export interface OwnEnvoyDeps {
  /** Where we listen for it. */
  readonly socketPath: string
  readonly logger: Logger
  accepted(nodeId: string): boolean
  onHopeless(error: Error): void
}

const NODE_ID = 'gatehouse-run'

/** Rejects (EnvoyNotFound) with a sentence for a person. */
export async function startOwnEnvoy(settings: Settings, deps: OwnEnvoyDeps): Promise<EnvoyProcess> {
  const { logger } = deps
  const envoyPath = await findEnvoy({
    ...(settings.envoy !== undefined && { explicit: settings.envoy }),
    environment: settings.environment,
    onNote: (sentence) => logger.info({}, sentence),
  })
  return runEnvoy({
    envoyPath,
    bootstrap: buildBootstrap({
      nodeCluster: EVERY_GATEWAY,
      nodeId: NODE_ID,
      connection: { address: { type: 'unix', path: deps.socketPath } },
      envoyAdmin: settings.envoyAdmin,
    }),
    logger,
    adminOrigin: `http://${formatAddress(settings.envoyAdmin)}`,
    accepted: () => deps.accepted(NODE_ID),
    onHopeless: (error) => deps.onHopeless(error),
  })
}
