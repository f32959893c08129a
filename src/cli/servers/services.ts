// Creates the three gRPC services that Envoy calls, from the published tables and the xDS cache.

import type { Envoys } from '../../control/publish/envoys.js'
import type { EntryTable } from '../../control/publish/retained-table.js'
import type { CompiledEntry } from '../../extauthz/authz-table.js'
import type { BudgetLimits } from '../../extauthz/cel/budget.js'
import { CostlyExpressions } from '../../extauthz/cel/costly-expressions.js'
import { createCheckService } from '../../extauthz/check-service.js'
import type { FreshKeysOptions } from '../../extauthz/token/fresh-keys.js'
import type { CompiledProcEntry } from '../../extproc/proc-table.js'
import { createProcessService } from '../../extproc/process-service.js'
import { readersByMesh } from '../../extproc/route-key.js'
import type { HeldBytes } from '../../extproc/session/held-bytes.js'
import type { SharedLimits } from '../../extproc/session/tally.js'
import type { GuardDeps } from '../../extproc/webhook/guard-deps.js'
import type { DecisionLog } from '../../kit/decision-log.js'
import type { CallRemote } from '../../kit/http/http-call.js'
import type { WebhookPools } from '../../kit/http/webhook-pools.js'
import type { Logger } from '../../kit/logger.js'
import type { ProbeSigns } from '../../kit/probe-signs.js'
import type { Tracer } from '../../kit/tracing.js'
import type { Metrics } from '../../ops/admin/metrics.js'
import type { Settings } from '../../ops/settings/settings.js'
import { isPrivatePeer, type Peer, type PeerTrust } from '../../wire/grpc/peer.js'
import type { GrpcService } from '../../wire/grpc/service.js'
import { type AdsService, createAdsService } from '../../xds/server/ads-server.js'
import type { SnapshotCache } from '../../xds/server/snapshot-cache.js'

interface CommonDeps {
  readonly metrics: Metrics
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** What the tokens of peers say. */
interface PeerTokens {
  isEnvoy(peer: Peer): boolean
  /** Returns the only Gateway whose Envoy the peer is; undefined: a peer with other rights. */
  gatewayOf(peer: Peer): string | undefined
}

/** What the ADS service is created with. */
export interface AdsDeps extends CommonDeps {
  readonly cache: SnapshotCache
  /** Records what each Envoy was sent, acknowledged and rejected. */
  readonly envoys: Envoys
  /** Which peers may be sent private keys. */
  readonly trust: PeerTrust
  /** Knows Envoys by their tokens; absent: no client has one. */
  readonly tokens?: PeerTokens | undefined
}

/** Creates the ADS service. */
export function createAds(deps: AdsDeps): AdsService {
  const { cache, envoys, metrics, logger, now, trust, tokens } = deps
  return createAdsService({
    cache,
    logger,
    metrics,
    mayReceiveSecrets: (peer) => isPrivatePeer(peer, trust) || tokens?.isEnvoy(peer) === true,
    onlyGatewayOf: (peer) => tokens?.gatewayOf(peer),
    onSent: (peer, type, version) => envoys.sent(peer, type, version),
    onAck: (peer, type, version, isAll) => envoys.acked(peer, type, version, isAll),
    onNack: (peer, type, version, message) =>
      envoys.nacked(peer, type, { version, message, at: new Date(now()).toISOString() }),
    onClose: (peer) => envoys.closed(peer),
  })
}

/** Access of checks to fresh keys. */
export type KeySets = Pick<FreshKeysOptions, 'refetchKeySet' | 'keySetAnswers'>

/** What the services of the tables are created with. */
export interface TableDeps extends CommonDeps {
  readonly tables: {
    readonly authz: EntryTable<CompiledEntry>
    readonly proc: EntryTable<CompiledProcEntry>
  }
  readonly keySets: KeySets
  /** Knows Envoys by their tokens, which may only use the entries of their Gateway; undefined: no client has one. */
  readonly tokens: Pick<PeerTokens, 'gatewayOf'> | undefined
  readonly callRemote: CallRemote
  /** Calls addresses that clients name, on the internet only. */
  readonly callPublic: CallRemote
  readonly pools: WebhookPools
  /** Limits shared with other workers; absent: only this process calls providers. */
  readonly shared?: SharedLimits
  /** Limits for guarded bodies. */
  readonly bodies: Pick<GuardDeps, 'maxBodyBytes' | 'heldBytes' | 'bodyTimeoutMs' | 'exposesReason'>
  /** Budget for the rules of a check, and for the header expressions of a webhook call. */
  readonly budget: BudgetLimits
  readonly decisions: DecisionLog
  /** Whether audits precede the answer (--access-log). */
  readonly auditsFirst: boolean
  /** Absent: no request is a probe. */
  readonly probes?: ProbeSigns | undefined
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined
  /** How to read the route from ext_proc streams without call metadata; absent: these streams fail. */
  readonly routeKey?: Settings['routeKey']
}

/** Creates ext_authz and ext_proc, in the order in which they must be drained. */
export function createCheckAndProcess(deps: TableDeps): readonly GrpcService[] {
  const { tables, keySets, callRemote, callPublic, pools, shared, bodies, budget } = deps
  const { metrics, logger, now, tracer, probes, decisions, tokens } = deps
  const gatewayOf = tokens && ((peer: Peer) => tokens.gatewayOf(peer))
  const check = createCheckService({
    ...keySets,
    table: () => tables.authz,
    gatewayOf,
    ruleBudget: budget,
    now,
    logger,
    decisions,
    metrics: metrics.checks,
    tracer,
    probes,
    auditsFirst: deps.auditsFirst,
  })
  const process = createProcessService({
    table: () => tables.proc,
    gatewayOf,
    callRemote,
    callPublic,
    tracer,
    probes,
    shared,
    readFirstMessage: deps.routeKey && readersByMesh[deps.routeKey],
    openStreams: metrics.streams,
    budgetReached: metrics.budgetReached,
    guardrails: {
      pools,
      ...bodies,
      costly: new CostlyExpressions(budget),
      metrics: metrics.guardrails,
      decisions,
    },
    now,
    logger,
  })
  return [check, process]
}

/** Reads the limits of bodies and checks and the route key from the settings. */
export const limitsOf = (
  settings: Settings,
  heldBytes: HeldBytes,
): Pick<TableDeps, 'bodies' | 'budget' | 'routeKey' | 'auditsFirst'> => ({
  bodies: {
    maxBodyBytes: settings.maxBodyBytes,
    heldBytes,
    bodyTimeoutMs: settings.bodyTimeout,
    exposesReason: settings.exposeReason,
  },
  budget: { steps: settings.ruleSteps, bytes: settings.ruleBytes },
  routeKey: settings.routeKey,
  auditsFirst: settings.accessLog,
})
