// Records the steps of a check: what each read and found. The check is that of the servers, with each of its steps wrapped.

import type { CheckContext } from '../../extauthz/check-context.js'
import { CHECK_STEPS } from '../../extauthz/decide.js'
import { SESSION_HEADER, sessionSubject } from '../../extauthz/oauth/session-seal.js'
import type { PathFault } from '../../extauthz/path-check.js'
import type { CheckSteps } from '../../extauthz/steps.js'
import type { BearerToken } from '../../extauthz/token/authorization-header.js'
import type { ClaimsFault, ClaimsRules } from '../../extauthz/token/claims.js'
import type { JoseHeader } from '../../extauthz/token/jws.js'
import type { TokenSteps } from '../../extauthz/token/verify.js'
import { andThen } from '../../kit/turns.js'
import type { JwtAuthentication } from '../../model/authz-entry.js'
import type { JsonObject } from '../../model/json.js'
import type { PathMatch } from '../../model/route.js'

type Record = (step: CheckStep) => void

/** Returns the steps of a check, which pass what they read and found to `record` before the next one begins. */
export const recordedSteps = (record: Record): CheckSteps => ({
  pathFault(entry, path) {
    const fault = CHECK_STEPS.pathFault(entry, path)
    record({ step: 'path', path, accepted: entry.entry.paths, fault })
    return fault
  },
  isForeignOrigin(entry, request) {
    const isForeign = CHECK_STEPS.isForeignOrigin(entry, request)
    const { allowedOrigins: allowed } = entry
    const origin = request.headers.get('origin')
    if (allowed !== undefined) record({ step: 'origin', origin, allowed, isForeign })
    return isForeign
  },
  findBearer(jwt, values, parts) {
    const bearer = CHECK_STEPS.findBearer(jwt, values, parts)
    record({ step: 'bearer', found: bearer.type, mode: jwt.mode })
    return bearer
  },
  token: recordedTokenSteps(record),
  authenticate: (jwt, values, context) =>
    andThen(CHECK_STEPS.authenticate(jwt, values, context), (authentication) => {
      record({ step: 'authentication', result: authentication.type, mode: jwt.mode })
      return authentication
    }),
  openSession(seal, request, token) {
    const session = CHECK_STEPS.openSession(seal, request, token)
    record({
      step: 'session',
      isNamed: request.headers.get(SESSION_HEADER) !== undefined,
      hasSubject: sessionSubject(token.claims.json) !== undefined,
      isOpened: session !== undefined && 'id' in session,
    })
    return session
  },
  readMessages: (line, request, rules, isOver) =>
    andThen(CHECK_STEPS.readMessages(line, request, rules, isOver), (read) => {
      if (typeof read === 'string') return read
      const calls = read.ok ? read.value.calls : []
      record({
        step: 'messages',
        calls: calls.map(({ method, toolName }) => ({ method, tool: toolName })),
        problem: read.ok ? undefined : read.error.message,
      })
      return read
    }),
  judge(rules, caller, calls, budget) {
    const verdict = CHECK_STEPS.judge(rules, caller, calls, budget)
    const { fault, needed } = verdict
    // Scopes are judged only if the rules allow the request.
    const isJudged = fault === undefined || fault === 'insufficient-scope'
    if (isJudged && rules.scopes.length > 0)
      record({ step: 'scopes', needed, claims: caller.token?.claims.json })
    return verdict
  },
})

const recordedTokenSteps = (record: Record): TokenSteps => ({
  read(jwt, parts) {
    const token = CHECK_STEPS.token.read(jwt, parts)
    const { jws, claims } = token
    record({ step: 'token', header: jws && headerOf(jws.header), claims: claims?.json })
    return token
  },
  providers(jwt, claims) {
    const matching = CHECK_STEPS.token.providers(jwt, claims)
    record({
      step: 'issuer',
      accepted: jwt.providers.map(({ issuer }) => issuer),
      claims: claims.json,
      matching: matching.length,
    })
    return matching
  },
  keySet(provider, header) {
    const keys = CHECK_STEPS.token.keySet(provider, header)
    const { issuer } = provider
    if (keys === undefined)
      record({ step: 'key', issuer, header: headerOf(header), keys: undefined, tried: 0 })
    return keys
  },
  claimsFault(header, claims, provider, nowSeconds) {
    const fault = CHECK_STEPS.token.claimsFault(header, claims, provider, nowSeconds)
    const read = { rules: provider, claims: claims.json, header: headerOf(header), nowSeconds }
    record({ step: 'claims', ...read, fault })
    return fault
  },
  fittingKeys(provider, header, keys) {
    const fitting = CHECK_STEPS.token.fittingKeys(provider, header, keys)
    const { issuer } = provider
    const tried = fitting.length
    record({ step: 'key', issuer, header: headerOf(header), keys: keys.length, tried })
    return fitting
  },
  isSigned: (jws, keys, wasVerified) =>
    andThen(CHECK_STEPS.token.isSigned(jws, keys, wasVerified), (isGood) => {
      record({ step: 'signature', isGood, tried: keys.length })
      return isGood
    }),
})

/** Returns the look-ups of keys, recorded. */
export const recordedLookUps = (
  lookUps: CheckContext['lookUps'],
  record: Record,
): CheckContext['lookUps'] => ({
  async find(request) {
    const fresh = await lookUps.find(request)
    record({ step: 'refetch', result: fresh.type })
    return fresh
  },
})

const headerOf = ({ algorithm, kid, type }: JoseHeader): TokenHeader => ({ algorithm, kid, type })

/** A step of a check with what it read; fault: absent or undefined if the request passes it. */
export type CheckStep =
  | {
      readonly step: 'path'
      readonly path: string
      readonly accepted: readonly PathMatch[]
      readonly fault: PathFault | undefined
    }
  /** Only on a route with allowedOrigins. */
  | {
      readonly step: 'origin'
      readonly origin: string | readonly string[] | undefined
      readonly allowed: readonly string[]
      readonly isForeign: boolean
    }
  | {
      readonly step: 'bearer'
      readonly found: BearerToken['type']
      readonly mode: JwtAuthentication['mode']
    }
  /** header: absent if the token is not a signed JWT. claims: absent if they are malformed. */
  | {
      readonly step: 'token'
      readonly header?: TokenHeader | undefined
      readonly claims?: JsonObject | undefined
    }
  /** matching: how many of the accepted issuers the claim iss equals. */
  | {
      readonly step: 'issuer'
      readonly accepted: readonly string[]
      readonly claims: JsonObject
      readonly matching: number
    }
  | {
      readonly step: 'claims'
      readonly rules: ClaimsRules
      readonly claims: JsonObject
      readonly header: TokenHeader
      readonly nowSeconds: number
      readonly fault: ClaimsFault | undefined
    }
  /** keys: how many the provider's key set has; undefined: it was never fetched. tried: how many the token is tried with. */
  | {
      readonly step: 'key'
      readonly issuer: string
      readonly header: TokenHeader
      readonly keys: number | undefined
      readonly tried: number
    }
  | { readonly step: 'refetch'; readonly result: 'found' | 'unknown' | 'unanswered' }
  | { readonly step: 'signature'; readonly isGood: boolean; readonly tried: number }
  | {
      readonly step: 'authentication'
      readonly result:
        'verified' | 'anonymous' | 'no-token' | 'refused' | 'unavailable' | 'unanswered'
      readonly mode: JwtAuthentication['mode']
    }
  /** Only on a route with bindSession. */
  | {
      readonly step: 'session'
      /** Whether the request names a session. */
      readonly isNamed: boolean
      readonly hasSubject: boolean
      readonly isOpened: boolean
    }
  /** problem: the error of a body that is not a message of MCP. */
  | {
      readonly step: 'messages'
      readonly calls: readonly { readonly method: string; readonly tool: string }[]
      readonly problem?: string | undefined
    }
  /** needed: absent if the token has the scopes that the request needs. */
  | {
      readonly step: 'scopes'
      readonly needed?: readonly string[] | undefined
      /** Claims of the verified token. */
      readonly claims: JsonObject | undefined
    }

/** The parts of a token's header that verification reads. */
export interface TokenHeader {
  readonly algorithm: string
  readonly kid?: string | undefined
  readonly type?: string | undefined
}
