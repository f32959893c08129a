// Creates the parts that call other servers: remote documents, names, webhooks.

import { createTlsLanes } from '../../kit/http/connect/tls-lanes.js'
import { createCallRemote, systemLookup } from '../../kit/http/http-call.js'
import { createNameStore } from '../../kit/http/name-store.js'
import { createRemoteStore, type RemoteStore } from '../../kit/http/remote-store.js'
import { tracedCall } from '../../kit/http/traced-call.js'
import { createWebhookPools, type WebhookLines } from '../../kit/http/webhook-pools.js'
import type { Logger } from '../../kit/logger.js'
import type { Tracer } from '../../kit/tracing.js'
import type { RemoteState } from '../../model/remote-target.js'
import type { Metrics } from '../../ops/admin/metrics.js'
import type { Environment, Settings } from '../../ops/settings/settings.js'
import { callRules, publicRules, tenancyOf } from './tenancy.js'

/** What outbound calls are created with. */
export interface OutboundDeps {
  readonly caFile: string
  readonly logger: Logger
  readonly metrics: Metrics
  /** Addresses of Gatehouse's own Services, from the last translation. */
  readonly ownAddresses: () => readonly string[]
  /** Called when documents or names have changed. */
  readonly onChange: () => void
  /** Called for every document fetched, changed or not; answers: how many have been. */
  readonly onAnswer: (id: string, answers: number) => void
  /** Returns undefined if calls are not traced. */
  readonly tracer: () => Tracer | undefined
  readonly now: () => number
  readonly startTimer: (callback: () => void, ms: number) => () => void
}

/** The parts that call other servers. */
export type OutboundParts = ReturnType<typeof createOutbound>

/** What calls are created with. */
export interface CallsDeps extends Pick<OutboundDeps, 'caFile' | 'ownAddresses'> {
  /** Queues for webhook connections, which all workers share; absent: only this process calls webhooks. */
  readonly lines?: WebhookLines
}

/** Creates the calls that a request may need: to identity providers and to webhooks. */
export function createCalls(settings: Settings, { caFile, ownAddresses, lines }: CallsDeps) {
  const tenancy = tenancyOf(settings)
  const lanes = createTlsLanes({ caFile })
  const calls = {
    lookup: systemLookup,
    connectTls: lanes.usual,
    addresses: callRules(tenancy, settings.allowAddress, ownAddresses),
  }
  return {
    tenancy,
    callRemote: createCallRemote(calls),
    callPublic: createCallRemote({
      ...calls,
      connectTls: lanes.strangers,
      addresses: publicRules(tenancy, settings.allowClientMetadataAddress, ownAddresses),
    }),
    pools: createWebhookPools(calls, lines),
    closeTls: () => lanes.close(),
  }
}

/** Creates the parts. */
export function createOutbound(settings: Settings, deps: OutboundDeps) {
  const { logger, metrics, now, startTimer, onChange } = deps
  const { tenancy, callRemote, callPublic, pools, closeTls } = createCalls(settings, deps)
  const remote: RemoteStore = createRemoteStore({
    callRemote: tracedCall(deps.tracer, callRemote),
    now,
    logger,
    metrics,
    maxStaleMs: settings.jwksMaxStale,
    onChange: (_state: RemoteState) => onChange(),
    onAnswer: (id, answers) => deps.onAnswer(id, answers),
  })
  const names =
    tenancy &&
    createNameStore({
      lookup: systemLookup,
      places: resolverPlaces(settings.environment),
      logger,
      onChange,
      random: Math.random,
      startTimer,
    })
  return {
    tenancy,
    callRemote,
    callPublic,
    pools,
    remote,
    names,
    async close(): Promise<void> {
      names?.close()
      await Promise.all([remote.close(), pools.close()])
      closeTls()
    },
  }
}

/** Concurrent name lookups: half of the libuv threads, as each lookup blocks one. */
function resolverPlaces(environment: Environment): number {
  const threads = Number(environment['UV_THREADPOOL_SIZE'] ?? 4)
  return Math.ceil((threads >= 1 ? Math.min(threads, 1024) : 1) / 2)
}
