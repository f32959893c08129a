// The published tables and the xDS cache → the three gRPC services that Envoy calls.

import type { Metrics } from '../admin/metrics.js'
import type { BudgetLimits } from '../cel/budget.js'
import { createCheckService } from '../extauthz/check-service.js'
import { createProcessService } from '../extproc/process-service.js'
import type { GuardDeps } from '../extproc/webhook/ask-webhooks.js'
import { isPrivatePeer, type PeerTrust } from '../grpc/peer.js'
import type { GrpcService } from '../grpc/service.js'
import type { Logger } from '../logger.js'
import type { CallRemote } from '../remote/http-call.js'
import type { RemoteStore } from '../remote/remote-store.js'
import type { WebhookPools } from '../remote/webhook-pools.js'
import type { Envoys } from '../snapshot/envoys.js'
import type { Publisher } from '../snapshot/publisher.js'
import { type AdsService, createAdsService } from '../xds/server/ads-server.js'
import type { SnapshotCache } from '../xds/server/snapshot-cache.js'
import type { Pipeline } from './pipeline.js'

interface CommonDeps {
  readonly metrics: Metrics
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface AdsDeps extends CommonDeps {
  readonly cache: SnapshotCache
  /** Told what each Envoy was sent, accepted and refused. */
  readonly envoys: Envoys
  /** Of those who may be sent private keys. */
  readonly trust: PeerTrust
}

export function createAds({ cache, envoys, metrics, logger, now, trust }: AdsDeps): AdsService {
  return createAdsService({
    cache,
    logger,
    metrics,
    mayReceiveSecrets: (peer) => isPrivatePeer(peer, trust),
    onSent: (peer, type, version) => envoys.sent(peer, type, version),
    onAck: (peer, type, version, isAll) => envoys.acked(peer, type, version, isAll),
    onNack: (peer, type, version, message) =>
      envoys.nacked(peer, type, { version, message, at: new Date(now()).toISOString() }),
    onClose: (peer) => envoys.closed(peer),
  })
}

export interface TableDeps extends CommonDeps {
  readonly publisher: Publisher
  readonly pipeline: Pipeline
  readonly remote: RemoteStore
  readonly callRemote: CallRemote
  /** For addresses that clients name: to the internet alone. */
  readonly callPublic: CallRemote
  readonly pools: WebhookPools
  /** Of guarded bodies. */
  readonly bodies: Pick<GuardDeps, 'maxBodyBytes' | 'heldBytes' | 'bodyTimeoutMs'>
  /** Of the rules of a check, and of the header expressions of a webhook call. */
  readonly budget: BudgetLimits
}

/** ext_authz and ext_proc, in the order in which they are to be drained. */
export function createCheckAndProcess(deps: TableDeps): readonly GrpcService[] {
  const { publisher, pipeline, remote, callRemote, callPublic, pools, bodies, budget } = deps
  const { metrics, logger, now } = deps
  const check = createCheckService({
    table: () => publisher.authz,
    // A check that waits for fresh keys must find them in the table.
    async refetchKeySet(id) {
      const fetched = await remote.refetch(id)
      pipeline.flush()
      return fetched
    },
    keySetAnswers: (id) => remote.answers(id),
    ruleBudget: budget,
    now,
    logger,
    metrics: metrics.checks,
  })
  const process = createProcessService({
    table: () => publisher.proc,
    callRemote,
    callPublic,
    guardrails: { pools, ...bodies, headerBudget: budget, metrics: metrics.guardrails },
    now,
    logger,
  })
  return [check, process]
}
