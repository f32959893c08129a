// gatehouse bootstrap: prints, as YAML, the bootstrap of an Envoy that gets its configuration from `gatehouse serve`.

import { stringify } from 'yaml'
import type { Settings } from '../../ops/settings/settings.js'
import { bootstrapJson, buildBootstrap } from '../../xds/bootstrap/bootstrap.js'
import { EVERY_GATEWAY } from '../../xds/translator/xds-resources.js'
import type { CommandIo, ExitCode } from './command-io.js'

/** Runs `gatehouse bootstrap`. */
export function bootstrap(settings: Settings, io: CommandIo): Promise<ExitCode> {
  const { gateway, connect, grpc, envoyAdmin } = settings
  const nodeCluster = gateway === undefined ? EVERY_GATEWAY : `${gateway.namespace}/${gateway.name}`
  const message = buildBootstrap({
    nodeCluster,
    nodeId: 'envoy',
    connection: { address: connect ?? grpc },
    envoyAdmin,
  })
  io.out(stringify(bootstrapJson(message), { lineWidth: 0, aliasDuplicateObjects: false }))
  return Promise.resolve(0)
}
