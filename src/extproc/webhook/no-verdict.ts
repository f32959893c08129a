// Why a call of a webhook brought no verdict: a class for metrics, and a sentence for the log.

import { describeFailure, type RemoteFailure } from '../../remote/connect/remote-failure.js'
import { err, type Result } from '../../result.js'

/** `status`: it did not answer 2xx. `invalid`: its answer is not a verdict. The others: there was no answer. */
export type NoVerdictReason = RemoteFailure['type'] | 'status' | 'invalid'

/** Why there is no verdict. */
export interface NoVerdict {
  readonly reason: NoVerdictReason
  /** Without any text of the answer. */
  readonly problem: string
}

const noVerdict = (reason: NoVerdictReason, problem: string): Result<never, NoVerdict> =>
  err({ reason, problem })

/** Returns the error of a call that failed. */
export const failedCall = (failure: RemoteFailure): Result<never, NoVerdict> =>
  noVerdict(failure.type, describeFailure(failure))

/** Returns the error of an answer whose status is not 2xx. */
export const badStatus = (status: number): Result<never, NoVerdict> =>
  noVerdict('status', `it answered HTTP ${status}`)

/** Returns the error of an answer that violates the contract. */
export const invalidAnswer = (problem: string): Result<never, NoVerdict> =>
  noVerdict('invalid', problem)

/** Nobody waits for the verdict any more. */
export const givenUp = (): Result<never, NoVerdict> =>
  noVerdict('aborted', 'nobody waits for its answer')
