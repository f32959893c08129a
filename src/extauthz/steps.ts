// The steps of a check, in the order in which they are taken. Servers take them as CHECK_STEPS has them; whoever explains a
// check wraps them.

import type { MaybePromise } from '../kit/turns.js'
import type { AuthzEntry } from '../model/authz-entry.js'
import type { CompiledEntry, CompiledJwt } from './authz-table.js'
import type { BodyLine } from './body-line.js'
import type { Attributes } from './cel/attributes.js'
import type { Budget } from './cel/budget.js'
import type { CheckRequest } from './check-request.js'
import type { Refusal } from './decision.js'
import type { McpRequest } from './mcp/http-message.js'
import type { OpenedSession, SessionSeal } from './oauth/session-seal.js'
import type { PathFault } from './path-check.js'
import type { ReadMessages } from './read-messages.js'
import type { CompiledRules, RuleVerdict } from './rules/judge.js'
import type { Authentication, AuthenticationContext, FindBearer } from './token/authenticate.js'
import type { RememberedToken } from './token/token-memory.js'
import type { TokenSteps } from './token/verify.js'

/** A request with its verified token and the address that it came from. */
export interface Caller {
  readonly request: CheckRequest
  /** undefined: the route does not authenticate, or the request is anonymous. */
  readonly token: RememberedToken | undefined
  readonly source: Attributes['source']
}

/** The steps of a check. */
export interface CheckSteps {
  /** @param path with or without a query. @returns undefined: it is one of the entry's. */
  pathFault(entry: CompiledEntry, path: string): PathFault | undefined
  /** Whether the request has an Origin that the route does not allow. */
  isForeignOrigin(entry: AuthzEntry, request: CheckRequest): boolean
  readonly findBearer: FindBearer
  readonly token: TokenSteps
  authenticate(
    jwt: CompiledJwt,
    values: readonly string[],
    context: AuthenticationContext,
  ): MaybePromise<Authentication>
  /** Returns undefined if the request names no session, as at its beginning. */
  openSession(
    seal: SessionSeal,
    request: CheckRequest,
    token: RememberedToken,
  ): OpenedSession | Refusal | undefined
  /** @param isOver whether nobody waits for the check any more. */
  readMessages(
    line: BodyLine,
    request: CheckRequest,
    rules: CompiledRules | undefined,
    isOver: () => boolean,
  ): MaybePromise<ReadMessages>
  /** @param calls what rules are evaluated for; undefined: the request itself. */
  judge(
    rules: CompiledRules,
    caller: Caller,
    calls: McpRequest['calls'] | undefined,
    budget: Budget,
  ): RuleVerdict
}
