// What a check decides: to allow the request, or to answer it. Makes the answers of
// ext_authz, except those about sessions (decide.ts).

import type { Authorization } from '../model/authorization.js'
import type { AuthzEntry } from '../model/authz-entry.js'
import type { McpAttributes } from './cel/attributes.js'
import type { CheckRequest } from './check-request.js'
import type { McpRequest } from './mcp/http-message.js'
import {
  errorBody,
  FORBIDDEN_CODE,
  McpProblem,
  type MessageId,
  problemBody,
} from './mcp/mcp-problem.js'
import type { RequestAddress } from './oauth/base-url.js'
import { challengeHeader, scopeChallenge } from './oauth/challenge.js'
import type { OpenedSession } from './oauth/session-seal.js'
import type { PathFault } from './path-check.js'
import type { RuleFault, RulePlace } from './rules/judge.js'
import type { RememberedToken } from './token/token-memory.js'
import type { TokenFault } from './token/verify.js'
import type { ValuesForEnvoy } from './values-for-envoy.js'

/** Label in metrics and logs; never sent to the client. */
export type Reason =
  | 'allowed'
  | 'anonymous'
  | 'no-token'
  | 'key-set-unavailable'
  | 'key-not-looked-up'
  | 'unknown-route'
  | 'malformed-check'
  | 'too-many-unfinished-messages'
  | 'broken-policy'
  | 'no-policy'
  | 'origin-not-allowed'
  | 'deadline'
  | 'internal-error'
  | 'body-not-sent'
  | 'body-too-large'
  | 'too-many-bodies'
  | 'not-a-message'
  | 'header-mismatch'
  | 'no-subject'
  | 'unknown-session'
  | 'probe'
  | TokenFault
  | RuleFault
  | PathFault

/** The answer to a Check: allow, or a reply to the client. */
export type Decision = Refusal | Allowed

/** A request that may pass. */
export interface Allowed {
  readonly type: 'allow'
  readonly reason: Reason
  readonly token?: RememberedToken
  /** For the log: the Allow rule that was true for all calls of the request; absent: no single one was. */
  readonly rule?: RulePlace | undefined
  /** The Cookie that the backend gets; "": none. Absent: the one that the client sent. */
  readonly cookie?: string
  /** What ext_proc needs to know of a request for a list. */
  readonly listRequest?: string
  readonly values?: ValuesForEnvoy
  /** The session that the request names; absent: none, or sessions are bound to nobody. */
  readonly session?: OpenedSession
  /** For access logs: why policies of mode Audit would have denied the request. */
  readonly auditReason?: Reason
  /** For the log: what the request asks for, if the rules read it. */
  readonly mcp?: McpRequest
}

/** A request that is answered instead of passed on. */
export interface Refusal {
  readonly type: 'reply'
  readonly reason: Reason
  readonly reply: CheckReply
  /** For the log: what denied the request; only for denials by rules. */
  readonly by?: RefusedBy
  /** For the log, if not in by: the caller's verified token. */
  readonly token?: RememberedToken
}

/** What rules denied the request, and for whom. */
export interface RefusedBy {
  /** Absent: no Allow rule is true. */
  readonly rule?: RulePlace | undefined
  /** The call that is denied; absent: no single one is. */
  readonly call?: McpAttributes | undefined
  /** The caller's verified token. */
  readonly token?: RememberedToken | undefined
  /** What the request asks for, if the rules read it. */
  readonly mcp?: McpRequest | undefined
}

/** The HTTP reply of a refusal. */
export interface CheckReply {
  readonly status: 400 | 401 | 403 | 404 | 413 | 500 | 503
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string
}

/** Seconds until a client may retry a route whose key set is not available yet. */
const RETRY_AFTER_SECONDS = '5'

const JSON_TYPE = ['content-type', 'application/json'] as const

function reply(
  status: CheckReply['status'],
  error: string,
  description: string,
  headers: CheckReply['headers'] = [],
): CheckReply {
  const body = JSON.stringify({ error, error_description: description })
  return { status, headers: [JSON_TYPE, ...headers], body }
}

const BAD_PATH_TEXT = 'Bad request: this path is not accepted'
const BAD_PATH = reply(400, 'invalid_request', BAD_PATH_TEXT)
const BAD_MCP_PATH: CheckReply = {
  status: 400,
  headers: [JSON_TYPE],
  body: problemBody(new McpProblem('invalid-request', BAD_PATH_TEXT)),
}
const FOREIGN_ORIGIN = reply(
  403,
  'forbidden',
  'Forbidden: pages of this origin may not call this server',
)
const FORBIDDEN_TEXT = 'Forbidden: access to this resource is not allowed'
const FORBIDDEN = reply(403, 'forbidden', FORBIDDEN_TEXT)
const TOO_LARGE = reply(413, 'invalid_request', 'The body is larger than the gateway may read')
const BROKEN = reply(500, 'server_error', 'The policy of this route cannot be applied')
const NO_POLICY = reply(503, 'server_error', 'No policy decides who may use this route')
const NO_KEYS = reply(
  503,
  'temporarily_unavailable',
  'The key set that tokens are checked with is not available yet',
  [['retry-after', RETRY_AFTER_SECONDS]],
)
const NOT_LOOKED_UP = reply(
  503,
  'temporarily_unavailable',
  'The key of the token could not be looked up in time',
  [['retry-after', '1']],
)
const UNAVAILABLE = reply(503, 'temporarily_unavailable', 'The request could not be checked')
const SOON = reply(503, 'temporarily_unavailable', 'The request could not be checked yet', [
  ['retry-after', '1'],
])

const refusal = (reason: Reason, answer: CheckReply): Refusal => ({
  type: 'reply',
  reason,
  reply: answer,
})

/** Denies a path that is not one of the entry. */
export function refusePath(fault: PathFault, isForMcp: boolean): Decision {
  if (fault !== 'path-trick') return refusal(fault, FORBIDDEN)
  return refusal(fault, isForMcp ? BAD_MCP_PATH : BAD_PATH)
}
/** Denies a request from an origin that is not allowed. */
export const refuseOrigin: Decision = refusal('origin-not-allowed', FOREIGN_ORIGIN)
/** id: of the message that is denied, which clients look for in the body; absent: not a request of MCP. */
export const refuseByRule = (fault: RuleFault, id?: MessageId): Refusal =>
  refusal(fault, id === undefined ? FORBIDDEN : forbiddenMessage(id))

/** Every 400 is a JSON-RPC error: with any other body, clients take the server for one of an older revision. */
export const refuseMessage = (problem: McpProblem): Decision =>
  refusal(problem.code === 'header-mismatch' ? 'header-mismatch' : 'not-a-message', {
    status: 400,
    headers: [JSON_TYPE],
    body: problemBody(problem),
  })

const forbiddenMessage = (id: MessageId, text = FORBIDDEN_TEXT): CheckReply => ({
  status: 403,
  headers: [JSON_TYPE],
  body: errorBody(FORBIDDEN_CODE, text, id),
})

/** Makes the only 403 that can start a step-up (decision 7). id: as in refuseByRule(). */
export function refuseScopes(
  entry: AuthzEntry,
  request: CheckRequest,
  scopes: readonly string[],
  id?: MessageId,
): Refusal {
  const text = `Forbidden: the token lacks a scope; this request needs ${scopes.join(' ')}`
  const answer =
    id === undefined ? reply(403, 'insufficient_scope', text) : forbiddenMessage(id, text)
  const challenge = scopeChallenge(entry.challenge, addressOf(request), scopes)
  const headers = [...answer.headers, ['www-authenticate', challenge] as const]
  return refusal('insufficient-scope', { ...answer, headers })
}

/** For audits: with a policy of mode Enforce, Envoy itself answers. */
export const refuseTooLarge: Decision = refusal('body-too-large', TOO_LARGE)
/** Denies every request of a route whose policy does not compile. */
export const refuseBroken: Decision = refusal('broken-policy', BROKEN)
/** Denies every request of a route that requires a policy and has none. */
export const refuseWithoutPolicy: Decision = refusal('no-policy', NO_POLICY)
/** A 503, since the provider may have just begun to use the token's key. */
export const refuseUnanswered: Decision = refusal('key-not-looked-up', NOT_LOOKED_UP)
/** Denies a request while the key set of its provider was never fetched. */
export const refuseWithoutKeys: Decision = refusal('key-set-unavailable', NO_KEYS)

const TEMPORARY: ReadonlySet<Reason> = new Set(['deadline', 'too-many-unfinished-messages'])

/** Fails closed: the check has no route that is known, is malformed or late, has no room, or failed itself. */
export const refuseUnchecked = (
  reason:
    | 'unknown-route'
    | 'malformed-check'
    | 'too-many-unfinished-messages'
    | 'deadline'
    | 'internal-error',
): Refusal => refusal(reason, TEMPORARY.has(reason) ? SOON : UNAVAILABLE)

/** Refuses a probe of a mesh's controller, or a made-up one. header: the proof. */
export const refuseProbe = (...headers: CheckReply['headers']): Refusal =>
  refusal('probe', reply(403, 'forbidden', 'Forbidden: probes are never served', headers))

/** A 503 to retry: Envoy has yet to receive the route's new configuration, or other bodies are read first. */
export const refuseUnread = (reason: 'body-not-sent' | 'too-many-bodies'): Decision =>
  refusal(reason, SOON)

/** fault: undefined when there was no token. */
export function refuseUnauthenticated(
  entry: AuthzEntry,
  request: CheckRequest,
  fault: TokenFault | undefined,
): Refusal {
  const description =
    fault === undefined
      ? 'Unauthorized: a bearer token is required'
      : 'Unauthorized: the token is not valid for this resource'
  const challenge = challengeFor(entry, request, fault)
  return refusal(
    fault ?? 'no-token',
    reply(401, 'unauthorized', description, [['www-authenticate', challenge]]),
  )
}

const challengeFor = (
  { challenge, authorization }: AuthzEntry,
  request: CheckRequest,
  fault: TokenFault | undefined,
): string =>
  challengeHeader(
    challenge,
    addressOf(request),
    fault && PROBLEMS[fault],
    alwaysNeeded(authorization),
  )

/** Scopes that every request needs. */
const alwaysNeeded = (authorization: Authorization | undefined): readonly string[] => [
  ...new Set(
    authorization?.requiredScopes?.flatMap(({ when, scopes }) =>
      when === undefined ? scopes : [],
    ),
  ),
]

function addressOf(request: CheckRequest): RequestAddress {
  const forwarded = request.headers.get('x-forwarded-proto')
  return {
    scheme: request.scheme,
    authority: request.host,
    forwardedProto: typeof forwarded === 'string' ? forwarded : undefined,
  }
}

const NOT_VALID = 'The token is not valid here'

/** RFC 6750 error_description, where a policy asks for it: what a client's author can fix, nothing about the keys. */
const PROBLEMS: Readonly<Record<TokenFault, string>> = {
  'malformed-header': 'Exactly one Authorization header with one bearer token is expected',
  'malformed-token': 'The token is not a signed JWT',
  'malformed-claims': 'The claims of the token are malformed',
  'wrong-type': 'The token is of another type',
  'wrong-issuer': NOT_VALID,
  'unknown-issuer': 'The issuer of the token is not accepted here',
  'wrong-audience': 'The token is meant for another audience',
  'no-expiry': 'The token has no expiry',
  expired: 'The token has expired',
  'not-yet-valid': 'The token is not valid yet',
  'unknown-key': NOT_VALID,
  'bad-signature': NOT_VALID,
}
