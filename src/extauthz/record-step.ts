// The steps of one decision, as `gatehouse explain` shows them. Servers pass no recorder, and then nothing is recorded.

import type { JwtAuthentication } from '../model/authz-entry.js'
import type { JsonObject } from '../model/json.js'
import type { PathMatch } from '../model/route.js'
import type { PathFault } from './path-check.js'
import type { BearerToken } from './token/authorization-header.js'
import type { ClaimsFault, ClaimsRules } from './token/claims.js'

/** Called at each step, in order, before the next one begins. */
export type RecordStep = (step: CheckStep) => void

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
      readonly problem?: string
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
  readonly kid?: string
  readonly type?: string
}
