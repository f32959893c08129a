// Why a call of a webhook brought no verdict: a class for metrics, and a sentence for the log.

import { describeFailure, type RemoteFailure } from '../../kit/http/connect/remote-failure.js'
import { err, type Result } from '../../kit/result.js'

/**
 * `status`: it did not answer 2xx. `invalid`: its answer is not a verdict. `headers`: its headers are too long to be sent.
 * The others: there was no answer.
 */
export type NoVerdictReason = RemoteFailure['type'] | 'status' | 'invalid' | 'headers'

/** Why there is no verdict. */
export interface NoVerdict {
  readonly reason: NoVerdictReason
  /** Without any text of the answer. */
  readonly problem: string
  /** A client can have brought it about by what it sent: it counts as FailClosed, whatever the policy says. */
  readonly isByClient: boolean
}

const noVerdict = (
  reason: NoVerdictReason,
  problem: string,
  isByClient = false,
): Result<never, NoVerdict> => err({ reason, problem, isByClient })

/** Returns the error of a call that failed. A webhook that masks a long prompt answers with a long text. */
export const failedCall = (failure: RemoteFailure): Result<never, NoVerdict> =>
  noVerdict(failure.type, describeFailure(failure), failure.type === 'too-large')

/** Returns the error of an answer whose status is not 2xx. */
export const badStatus = (status: number): Result<never, NoVerdict> =>
  noVerdict('status', `it answered HTTP ${status}`, OF_BAD_QUESTIONS.has(status))

/** Bad Request, Content Too Large, URI Too Long, Unprocessable Content, Request Header Fields Too Large (RFC 9110, 6585). */
const OF_BAD_QUESTIONS: ReadonlySet<number> = new Set([400, 413, 414, 422, 431])

/** Returns the error of a question whose headers are too long to be sent. maxBytes: what they may have together. */
export const longHeaders = (maxBytes: number): Result<never, NoVerdict> =>
  noVerdict('headers', `its headers have more than ${maxBytes} bytes`, true)

/** Returns the error of an answer that violates the contract. isByClient: as in NoVerdict; default false. */
export const invalidAnswer = (problem: string, isByClient = false): Result<never, NoVerdict> =>
  noVerdict('invalid', problem, isByClient)

/** Nobody waits for the verdict any more. */
export const givenUp = (): Result<never, NoVerdict> =>
  noVerdict('aborted', 'nobody waits for its answer')
