// Decides an opened check by its entry: checks the path, authenticates, authorizes.

import { andThen } from '../kit/turns.js'
import type { AuthzEntry } from '../model/authz-entry.js'
import { PARTIAL_BODY_HEADER } from '../model/names.js'
import { authorizeRequest } from './authorize-request.js'
import type { CompiledEntry, CompiledJwt } from './authz-table.js'
import type { Attributes } from './cel/attributes.js'
import { type CheckCall, type CheckContext, isOver } from './check-context.js'
import {
  type CheckEnvelope,
  type CheckRequest,
  readCheckRequest,
  readSource,
} from './check-request.js'
import {
  type CheckReply,
  type Decision,
  type Refusal,
  refuseBroken,
  refuseOrigin,
  refusePath,
  refuseTooLarge,
  refuseUnanswered,
  refuseUnauthenticated,
  refuseUnchecked,
  refuseWithoutKeys,
  refuseWithoutPolicy,
} from './decision.js'
import { errorBody, FORBIDDEN_CODE, NO_ID } from './mcp/mcp-problem.js'
import {
  type OpenedSession,
  SESSION_HEADER,
  type SessionSeal,
  sessionSubject,
} from './oauth/session-seal.js'
import { isForeignOrigin } from './origin-check.js'
import { pathFault } from './path-check.js'
import type { RecordStep } from './record-step.js'
import { authenticate, type Authentication } from './token/authenticate.js'
import type { RememberedToken } from './token/token-memory.js'

/** Whether MCP clients call the route. */
const isForMcp = ({ readsMcp, entry }: CompiledEntry): boolean =>
  readsMcp || entry.challenge !== undefined

/** @throws RangeError when the message is malformed. */
export function decide(
  context: CheckContext,
  envelope: CheckEnvelope,
  entry: CompiledEntry,
  call: CheckCall,
): Decision | Promise<Decision> {
  if (entry.entry.isAudited === true) return LET_IN
  if (entry.broken || entry.entry.isClosed === true) return refuseBroken
  if (entry.entry.lacksPolicy === true) return refuseWithoutPolicy
  const request = readCheckRequest(envelope, entry.headers)
  if (context.isAudit && isCut(request)) return refuseTooLarge
  const fault = pathFault(request.path, entry.paths)
  context.recordStep?.({ step: 'path', path: request.path, accepted: entry.entry.paths, fault })
  if (fault !== undefined) return refusePath(fault, isForMcp(entry))
  // Unlike other allowed requests, these keep the cookies of a relay, which are for its pages.
  if (entry.entry.servesDocuments === true) return LET_IN
  const isForeign = isForeignOrigin(entry.entry, request)
  if (context.recordStep !== undefined)
    traceOrigin(context.recordStep, entry.entry, request, isForeign)
  if (isForeign) return refuseOrigin
  const source = entry.readsSource ? readSource(envelope) : undefined
  const asked: Asked = { context, entry, request, source, call }
  if (entry.jwt === undefined) return authorizeAs(asked, undefined)
  const authentication = authenticateRequest(context, entry, entry.jwt, request)
  if (!(authentication instanceof Promise)) return conclude(asked, authentication)
  return authentication.then((late) =>
    isOver(context, call) ? refuseUnchecked('deadline') : conclude(asked, late),
  )
}

/** Whether the body is longer than Envoy sends. Where a policy of mode Enforce reads bodies, Envoy itself answers 413. */
const isCut = ({ headers }: CheckRequest): boolean => headers.get(PARTIAL_BODY_HEADER) === 'true'

/** For requests that no policy of mode Enforce concerns, and for those whose body is checked later. */
const LET_IN: Decision = { type: 'allow', reason: 'allowed' }

function traceOrigin(
  recordStep: RecordStep,
  { allowedOrigins: allowed }: AuthzEntry,
  { headers }: CheckRequest,
  isForeign: boolean,
): void {
  if (allowed === undefined) return
  recordStep({ step: 'origin', origin: headers.get('origin'), allowed, isForeign })
}

/** A check whose path and Origin are accepted. */
interface Asked {
  readonly context: CheckContext
  readonly entry: CompiledEntry
  readonly request: CheckRequest
  readonly source: Attributes['source']
  readonly call: CheckCall
}

function authenticateRequest(
  { options, lookUps, isAudit, recordStep }: CheckContext,
  { entry }: CompiledEntry,
  jwt: CompiledJwt,
  request: CheckRequest,
): Authentication | Promise<Authentication> {
  const found = request.headers.get('authorization')
  const values = found === undefined ? [] : typeof found === 'string' ? [found] : found
  return authenticate(jwt, values, {
    nowSeconds: options.now() / 1000,
    recordStep,
    // The only place where a check reads a newer table: for keys that were fetched after it began.
    withFreshKeys: (provider, name, hasKey) =>
      lookUps.find({
        provider,
        name,
        hasKey,
        bodyBytes: request.body?.length ?? 0,
        current: () => {
          const current = options.table().get(entry.key)
          return isAudit ? current?.audit?.jwt : current?.jwt
        },
      }),
  })
}

function conclude(asked: Asked, authentication: Authentication): Decision | Promise<Decision> {
  const { context, entry, request } = asked
  if (context.recordStep !== undefined && entry.jwt !== undefined)
    context.recordStep({
      step: 'authentication',
      result: authentication.type,
      mode: entry.jwt.mode,
    })
  switch (authentication.type) {
    case 'unavailable':
      return refuseWithoutKeys
    case 'unanswered':
      return refuseUnanswered
    case 'no-token':
      return refuseUnauthenticated(entry.entry, request, undefined)
    case 'refused':
      return refuseUnauthenticated(entry.entry, request, authentication.fault)
    case 'anonymous':
      return authorizeAs(asked, undefined)
    case 'verified':
      context.onVerified?.(authentication.token)
      return authorizeAs(asked, authentication.token)
  }
}

function authorizeAs(
  { context, entry, request, source, call }: Asked,
  token: RememberedToken | undefined,
): Decision | Promise<Decision> {
  // Never happens: sessions are bound where every request has a verified token (mode Strict).
  if (entry.session !== undefined && token === undefined) return refuseWithoutSubject
  const session =
    entry.session && token && openSession(entry.session, request, token, context.recordStep)
  if (isRefused(session)) return ofCaller(session, token)
  if (context.isHead === true) return LET_IN
  const decision = authorizeRequest(context, entry, { request, token, source }, call)
  return andThen(decision, (own) =>
    ofCaller(session === undefined ? own : withSession(own, session), token),
  )
}

/** Says, for the log, whose verified token was refused. */
const ofCaller = (decision: Decision, token: RememberedToken | undefined): Decision =>
  decision.type === 'allow' || token === undefined ? decision : { ...decision, token }

// Checks that the session of a request is its caller's (mcp.bindSession), and finds the server's own id of it.

/** Returns undefined if the request names no session, as at its beginning. */
function openSession(
  seal: SessionSeal,
  { headers }: CheckRequest,
  { claims }: Pick<RememberedToken, 'claims'>,
  recordStep?: RecordStep,
): OpenedSession | Refusal | undefined {
  const sealed = headers.get(SESSION_HEADER)
  const subject = sessionSubject(claims.json)
  const only = typeof sealed === 'string' ? sealed : ''
  const id = subject === undefined ? undefined : seal.open(only, subject)
  recordStep?.({
    step: 'session',
    isNamed: sealed !== undefined,
    hasSubject: subject !== undefined,
    isOpened: id !== undefined,
  })
  if (subject === undefined) return refuseWithoutSubject
  if (sealed === undefined) return undefined
  return id === undefined ? UNKNOWN : { id, sealed: only }
}

/** Whether the session may not be used. */
const isRefused = (session: OpenedSession | Refusal | undefined): session is Refusal =>
  session !== undefined && 'reply' in session

/** Returns the decision with the session that the server gets. */
const withSession = (decision: Decision, session: OpenedSession): Decision =>
  decision.type === 'allow' ? { ...decision, session } : decision

const answer = (status: CheckReply['status'], code: number, message: string): CheckReply => ({
  status,
  headers: [['content-type', 'application/json']],
  body: errorBody(code, message, NO_ID),
})

/** JSON-RPC's code for a session that servers do not know, as the official SDKs write it. */
const UNKNOWN_CODE = -32_001

/** 404, upon which a client begins a new session (MCP 2025-11-25, transports, session management). */
const UNKNOWN: Refusal = {
  type: 'reply',
  reason: 'unknown-session',
  reply: answer(404, UNKNOWN_CODE, 'Session not found'),
}

const NO_SUBJECT =
  'Forbidden: the token has no subject (sub), to which this server binds its sessions'

/** Denies a caller to whom no session can be bound. */
const refuseWithoutSubject: Refusal = {
  type: 'reply',
  reason: 'no-subject',
  reply: answer(403, FORBIDDEN_CODE, NO_SUBJECT),
}
