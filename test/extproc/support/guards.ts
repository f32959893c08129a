// Builds guards and webhooks in the form of the model, and the dependencies with which the service calls webhooks.

import { CostlyExpressions } from '../../../src/extauthz/cel/costly-expressions.js'
import type { Usage } from '../../../src/extproc/llm/text/usage.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import type { GuardDeps } from '../../../src/extproc/webhook/guard-deps.js'
import type { VerdictLabels } from '../../../src/extproc/webhook/guard-metrics.js'
import type { Lookup } from '../../../src/kit/http/connect/resolve.js'
import { systemLookup } from '../../../src/kit/http/http-call.js'
import {
  createWebhookPools,
  type WebhookLines,
  type WebhookPools,
} from '../../../src/kit/http/webhook-pools.js'
import type { GuardEntry, Webhook } from '../../../src/model/proc-entry.js'
import { connectTls } from '../../support/tls.js'

/** Creates pools. */
export const plainPools = (lookup: Lookup = systemLookup, lines?: WebhookLines): WebhookPools =>
  createWebhookPools({ lookup, connectTls }, lines)

export type CountedVerdict = VerdictLabels

export interface CountedTokens extends Usage {
  readonly route: string
}

/** verdicts and tokens: filled in order. */
export const guardrails = (
  pools: WebhookPools = plainPools(),
  verdicts: CountedVerdict[] = [],
  tokens: CountedTokens[] = [],
): Omit<GuardDeps, 'now' | 'logger'> => ({
  pools,
  maxBodyBytes: 1024 * 1024,
  costly: new CostlyExpressions(),
  heldBytes: createHeldBytes(Infinity),
  bodyTimeoutMs: 60_000,
  limit: { take: () => 0, hasRoom: () => true, flush: () => undefined },
  metrics: {
    verdict: (labels) => verdicts.push(labels),
    tokens: (route, usage) => tokens.push({ route, ...usage }),
  },
})

export const webhook = (port: number, changes: Partial<Webhook> = {}): Webhook => ({
  backend: 'service/default/guard/80',
  target: {
    url: 'http://guard.example/request',
    endpoints: { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] },
  },
  failureMode: 'FailClosed',
  headers: [],
  inspectToolCalls: false,
  inspectTools: false,
  inspectFiles: false,
  holdBack: 256,
  minIntervalMs: 300,
  mode: 'Sync',
  maxConnections: 100,
  keepAliveSeconds: 300,
  ...changes,
})

export const guardEntry = (
  key: string,
  webhooks: Partial<Pick<GuardEntry, 'request' | 'response'>>,
): GuardEntry => ({
  type: 'guard',
  key,
  route: 'default/llm',
  request: [],
  response: [],
  ...webhooks,
})
