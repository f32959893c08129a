// Starts the Envoy of `run` and `demo`, which reaches Gatehouse over a Unix socket.

import { join } from 'node:path'
import type { Logger } from '../../kit/logger.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { ServerAddress } from '../../ops/settings/values.js'
import { bootstrapJson, buildBootstrap } from '../../xds/bootstrap/bootstrap.js'
import { EVERY_GATEWAY } from '../../xds/translator/xds-resources.js'
import { type EnvoyProcess, runEnvoy } from './envoy-process.js'
import { findEnvoy } from './find-envoy.js'
import type { Keeper } from './keeper.js'
import { ownConnection } from './own-listeners.js'
import { ENVOY_ADMIN_SOCKET } from './private-folder.js'

/** What the Envoy is started with. */
export interface OwnEnvoyDeps {
  /** Private folder for the sockets of Gatehouse and of Envoy's admin address. */
  readonly folder: string
  readonly keeper: Keeper
  /** Aborts the search for an Envoy binary. */
  readonly stop: AbortSignal
  readonly logger: Logger
  accepted(nodeId: string): boolean
  onHopeless(error: Error): void
}

const NODE_ID = 'gatehouse-run'

/** Admin address of Envoy: a socket unless a port was asked for, which could be in use and is open to local users. */
export const envoyAdminOf = ({ given, envoyAdmin }: Settings, folder: string): ServerAddress =>
  given.has('envoyAdmin') ? envoyAdmin : { type: 'unix', path: join(folder, ENVOY_ADMIN_SOCKET) }

/** Rejects with EnvoyNotFound, whose message is for a person, or with the signal's reason. */
export async function startOwnEnvoy(settings: Settings, deps: OwnEnvoyDeps): Promise<EnvoyProcess> {
  const { logger, folder, stop } = deps
  const keep: Keeper['keep'] = (child) => deps.keeper.keep(child)
  const envoyPath = await findEnvoy({
    ...(settings.envoy !== undefined && { explicit: settings.envoy }),
    environment: settings.environment,
    onNote: (sentence) => logger.info({}, sentence),
    signal: stop,
    keep,
  })
  const admin = envoyAdminOf(settings, folder)
  return runEnvoy({
    envoyPath,
    bootstrap: bootstrapJson(
      buildBootstrap({
        nodeCluster: EVERY_GATEWAY,
        nodeId: NODE_ID,
        connection: ownConnection(folder, settings.workers),
        envoyAdmin: admin,
      }),
    ),
    logger,
    admin,
    folder,
    keep,
    accepted: () => deps.accepted(NODE_ID),
    onHopeless: (error) => deps.onHopeless(error),
  })
}
