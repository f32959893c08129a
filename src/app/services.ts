// The published tables and the xDS cache → the three gRPC services that Envoy calls, in the order they are drained.

import type { Metrics } from '../admin/metrics.js'
import { createCheckService } from '../extauthz/check-service.js'
import { createProcessService } from '../extproc/process-service.js'
import { isPrivatePeer } from '../grpc/peer.js'
import type { GrpcService } from '../grpc/server.js'
import type { Logger } from '../logger.js'
import { callRemote } from '../remote/http-call.js'
import type { RemoteStore } from '../remote/remote-store.js'
import type { Envoys } from '../snapshot/envoys.js'
import type { Publisher } from '../snapshot/publisher.js'
import { createAdsService } from '../xds/ads-server.js'
import type { SnapshotCache } from '../xds/snapshot-cache.js'
import type { Pipeline } from './pipeline.js'

export interface ServiceDeps {
  readonly cache: SnapshotCache
  readonly publisher: Publisher
  readonly pipeline: Pipeline
  readonly remote: RemoteStore
  readonly envoys: Envoys
  readonly metrics: Metrics
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
}

export function createServices(deps: ServiceDeps): readonly GrpcService[] {
  const { publisher, pipeline, remote, metrics, logger } = deps
  const now = (): number => deps.now()
  const check = createCheckService({
    table: () => publisher.authz,
    // A check that waits for fresh keys must find them in the table.
    async refetchKeySet(id) {
      await remote.refetch(id)
      pipeline.flush()
    },
    now,
    logger,
    metrics: metrics.checks,
  })
  return [
    check,
    createProcessService({ table: () => publisher.proc, callRemote, now, logger }),
    adsService(deps),
  ]
}
