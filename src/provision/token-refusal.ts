// Why a call of an Envoy, or of what claims to be one, is not served.

import { GrpcError, type Status } from '../grpc/status.js'

/**
 * Why a call was refused: it had no token ("none") or one that is not for Gatehouse ("unusable"), the API server did not
 * confirm the token ("refused") or did not answer ("no-answer"), no Gateway has Envoys of its account ("no-gateway"), or
 * too many tokens were to be reviewed ("limit").
 */
export type TokenRefusalReason =
  'none' | 'unusable' | 'refused' | 'no-gateway' | 'no-answer' | 'limit'

/** Number of refused calls by reason. */
export type TokenRefusals = Readonly<Record<TokenRefusalReason, number>>

/** Returns the counts of nothing. */
export const noRefusals = (): Record<TokenRefusalReason, number> => ({
  none: 0,
  unusable: 0,
  refused: 0,
  'no-gateway': 0,
  'no-answer': 0,
  limit: 0,
})

/** A refused call, which ends with a status and has a reason to count it by. */
export class TokenRefusal extends GrpcError {
  readonly reason: TokenRefusalReason

  constructor(reason: TokenRefusalReason, status: Status, details: string) {
    super(status, details)
    this.reason = reason
  }
}
