// Decides an opened check by its entry: checks the path, authenticates, authorizes.

import { andThen } from '../kit/turns.js'
import { PARTIAL_BODY_HEADER } from '../model/names.js'
import { authorizeRequest, judgeCaller } from './authorize-request.js'
import type { CompiledEntry, CompiledJwt } from './authz-table.js'
import { isRefused, openSession, refuseWithoutSubject, withSession } from './caller-session.js'
import type { Attributes } from './cel/attributes.js'
import { type CheckCall, type CheckContext, isOver } from './check-context.js'
import {
  type CheckEnvelope,
  type CheckRequest,
  readCheckRequest,
  readSource,
} from './check-request.js'
import {
  type Decision,
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
import { isForeignOrigin } from './origin-check.js'
import { pathFault } from './path-check.js'
import { readMessages } from './read-messages.js'
import type { CheckSteps } from './steps.js'
import { authenticate, type Authentication, findBearer } from './token/authenticate.js'
import type { RememberedToken } from './token/token-memory.js'
import { TOKEN_STEPS } from './token/verify.js'

/** The steps as servers take them. */
export const CHECK_STEPS: CheckSteps = {
  pathFault: ({ paths }, path) => pathFault(path, paths),
  isForeignOrigin,
  findBearer,
  token: TOKEN_STEPS,
  authenticate,
  openSession,
  readMessages,
  judge: judgeCaller,
}

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
  const fault = context.steps.pathFault(entry, request.path)
  if (fault !== undefined) return refusePath(fault, isForMcp(entry))
  // Unlike other allowed requests, these keep the cookies of a relay, which are for its pages.
  if (entry.entry.servesDocuments === true) return LET_IN
  if (context.steps.isForeignOrigin(entry.entry, request)) return refuseOrigin
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

/** A check whose path and Origin are accepted. */
interface Asked {
  readonly context: CheckContext
  readonly entry: CompiledEntry
  readonly request: CheckRequest
  readonly source: Attributes['source']
  readonly call: CheckCall
}

function authenticateRequest(
  { options, lookUps, isAudit, steps }: CheckContext,
  { entry }: CompiledEntry,
  jwt: CompiledJwt,
  request: CheckRequest,
): Authentication | Promise<Authentication> {
  const found = request.headers.get('authorization')
  const values = found === undefined ? [] : typeof found === 'string' ? [found] : found
  return steps.authenticate(jwt, values, {
    nowSeconds: options.now() / 1000,
    findBearer: steps.findBearer,
    steps: steps.token,
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
  const session = entry.session && token && context.steps.openSession(entry.session, request, token)
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
