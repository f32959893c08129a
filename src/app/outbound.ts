// Settings → what calls others: remote documents, names, webhooks.

import type { Metrics } from '../admin/metrics.js'
import type { RemoteState } from '../ir/remote-target.js'
import type { Logger } from '../logger.js'
import { createCallRemote, systemLookup } from '../remote/http-call.js'
import { createNameStore } from '../remote/name-store.js'
import { createRemoteStore, type RemoteStore } from '../remote/remote-store.js'
import { systemAuthorities } from '../remote/system-authorities.js'
import { createWebhookPools, type WebhookLines } from '../remote/webhook-pools.js'
import type { Environment, Settings } from '../settings.js'
import { callRules, publicRules, tenancyOf } from './tenancy.js'

export interface OutboundDeps {
  readonly caFile: string
  readonly logger: Logger
  readonly metrics: Metrics
  /** Of Gatehouse's own Services, as the last translation knows them. */
  readonly ownAddresses: () => readonly string[]
  /** Documents or names have changed. */
  readonly onChange: () => void
  /** A document has come, perhaps the same again; answers: how many have. */
  readonly onAnswer: (id: string, answers: number) => void
  readonly now: () => number
  readonly startTimer: (callback: () => void, ms: number) => () => void
}

export type OutboundParts = ReturnType<typeof createOutbound>

export interface CallsDeps extends Pick<OutboundDeps, 'caFile' | 'ownAddresses'> {
  /** In front of webhooks; absent: this process alone calls them. */
  readonly lines?: WebhookLines
}

/** What a request may need of others: to register at a provider, to ask webhooks. */
export function createCalls(settings: Settings, { caFile, ownAddresses, lines }: CallsDeps) {
  const tenancy = tenancyOf(settings)
  const calls = {
    lookup: systemLookup,
    systemAuthorities: systemAuthorities(caFile),
    addresses: callRules(tenancy, settings.allowAddress, ownAddresses),
  }
  return {
    tenancy,
    callRemote: createCallRemote(calls),
    callPublic: createCallRemote({
      ...calls,
      addresses: publicRules(tenancy, settings.allowAddress, ownAddresses),
    }),
    pools: createWebhookPools(calls, lines),
  }
}

export function createOutbound(settings: Settings, deps: OutboundDeps) {
  const { logger, metrics, now, startTimer, onChange } = deps
  const { tenancy, callRemote, callPublic, pools } = createCalls(settings, deps)
  const remote: RemoteStore = createRemoteStore({
    callRemote,
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
    },
  }
}

/** How many names Node asks the system's resolver for at a time: half of the threads that its loop has for slow work. */
function resolverPlaces(environment: Environment): number {
  const threads = Number(environment['UV_THREADPOOL_SIZE'] ?? 4)
  return Math.ceil((threads >= 1 ? Math.min(threads, 1024) : 1) / 2)
}
