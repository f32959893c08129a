// Starts an Envoy that gets its configuration from Gatehouse by incremental ADS, through a recording relay.

import { create } from '@bufbuild/protobuf'
import { startEnvoy } from '../src/cli/run-envoy/child.js'
import { findEnvoy } from '../src/cli/run-envoy/find-envoy.js'
import { waitUntilLive } from '../src/cli/run-envoy/wait-until-live.js'
import { readServerAddress } from '../src/ops/settings/values.js'
import { Bootstrap_StaticResourcesSchema } from '../src/wire/grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'
import { bootstrapJson, buildBootstrap } from '../src/xds/bootstrap/bootstrap.js'
import { buildServerClusters, buildXdsCluster } from '../src/xds/bootstrap/gatehouse-clusters.js'
import { type AdsRelay, startAdsRelay } from './ads-relay.js'
import { freePort } from './processes.js'

export interface LiveEnvoy {
  readonly relay: AdsRelay
  stop(): Promise<void>
}

const PATIENCE_MS = 60_000
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * Resolves when the Envoy's listeners are active.
 * @param grpc as in --grpc.
 */
export async function startLiveEnvoy(grpc: string): Promise<LiveEnvoy> {
  const read = readServerAddress(grpc)
  if (!read.ok) throw new Error(`${grpc}: expected ${read.error}`)
  const address = read.value
  const relay = await startAdsRelay(grpc)
  const envoyAdmin = { type: 'tcp', host: '127.0.0.1', port: await freePort() } as const
  const bootstrap = buildBootstrap({
    nodeCluster: '*',
    nodeId: 'envoy',
    connection: { address },
    envoyAdmin,
  })
  const relayed = { address: { type: 'tcp', host: '127.0.0.1', port: relay.port } } as const
  const staticResources = create(Bootstrap_StaticResourcesSchema, {
    clusters: [buildXdsCluster(relayed), ...buildServerClusters({ address })],
  })
  const environment = process.env
  const child = await startEnvoy({
    envoyPath: environment['GATEHOUSE_TEST_ENVOY'] ?? (await findEnvoy({ environment })),
    bootstrap: bootstrapJson({ ...bootstrap, staticResources }),
    logger: quiet,
    concurrency: 1,
  })
  const stop = async (): Promise<void> => {
    await child.stop()
    relay.close()
  }
  try {
    await waitUntilLive(child, envoyAdmin, PATIENCE_MS)
    return { relay, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
