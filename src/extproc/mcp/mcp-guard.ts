// The compiled guard of a route's MCP traffic, and the context in which it inspects one exchange.

import type { Attributes } from '../../extauthz/cel/attributes.js'
import type { SessionSeal } from '../../extauthz/oauth/session-seal.js'
import type { CompiledRules } from '../../extauthz/rules/judge.js'
import type { Ending } from '../../kit/ending.js'
import type { ListCaller } from '../lists/filter-list.js'
import type { GuardWebhooks } from '../webhook/compiled-guard.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import type { AskedCalls } from './texts/guarded-message.js'

/** The table entry of a route with mcp.guard. */
export interface McpGuard extends GuardWebhooks {
  readonly type: 'mcp-guard'
  /** NAMESPACE/NAME of the HTTPRoute. */
  readonly route: string
  /** Result of rulesOfLists(), with mcp.filterLists. */
  readonly rules?: CompiledRules
  /** Absent: sessions are bound to nobody. */
  readonly session?: SessionSeal
}

/** The webhooks of a route's MCP traffic that are audited. */
export interface McpGuardAudit extends Omit<McpGuard, 'type'> {
  readonly type: 'mcp-guard-audit'
}

/** One request of a client and its reply. */
export interface McpExchange {
  readonly guard: McpGuard
  readonly deps: GuardDeps
  readonly signal: Ending
  readonly attributes: () => Attributes
  /** Returns the requests that the server has not answered yet. */
  unanswered(): AskedCalls
  /** Called for each answer. id: JSON text. */
  answered(id: string): void
  /** Whether the client sent a batch. */
  isBatch(): boolean
  /** Who has requested a list that is filtered; undefined: none was requested. */
  caller(): ListCaller | undefined
}
