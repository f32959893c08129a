// Replies that Gatehouse sends in place of an MCP server's: JSON-RPC messages that official clients show.

import { type McpProblem, problemBody } from '../../extauthz/mcp/mcp-problem.js'
import { type Refused, refused } from '../guard/inspection.js'
import { BUSY } from '../session/held-bytes.js'
import type { Reply } from '../session/immediate-response.js'
import type { RefusalSubject } from '../webhook/refusal-log.js'
import type { AskedCalls } from './texts/guarded-message.js'
import { failedAnswer, rejectedAnswer, rejectedError, type Rejection } from './texts/own-answer.js'
import { WEBHOOK_UNAVAILABLE } from './withheld-line.js'

/** The requests that a reply answers. */
export interface Answered {
  readonly asked: AskedCalls
  readonly isBatch: boolean
}

const REJECTED = 'gatehouse_guardrail_reject'

/** Statuses by which a server ends a client's session, or its login. */
const ENDING: ReadonlySet<number> = new Set([401, 404])

/**
 * Returns the answer to each request, with 200: clients show it as the result of the call. If there is no request to
 * answer, the status is the webhook's, or 403 in place of one that would end the session.
 */
export function mcpRejected({ asked, isBatch }: Answered, rejection: Rejection): Refused {
  const isTaken = rejection.status >= 400 && !ENDING.has(rejection.status)
  const status = isTaken ? rejection.status : 403
  const reply =
    asked.size === 0
      ? jsonText(status, rejectedError(rejection), REJECTED)
      : jsonText(200, textOf({ asked, isBatch }, rejection), REJECTED)
  return refused(reply, 'rejected by a webhook')
}

const textOf = ({ asked, isBatch }: Answered, rejection: Rejection): string =>
  joined(
    [...asked.values()].map((call) => rejectedAnswer(call, rejection)),
    isBatch,
  )

const joined = (answers: readonly string[], isBatch: boolean): string =>
  isBatch ? `[${answers.join(',')}]` : (answers[0] ?? '')

/** message: for the client. problem: for the log; neither contains any text of the message. */
interface Failure {
  readonly status: 408 | 413 | 503
  readonly code: string
  readonly message: string
  readonly problem: string
  readonly headers?: Readonly<Record<string, string>>
}

const failed =
  ({ status, code, message, problem, headers = {} }: Failure) =>
  ({ asked, isBatch }: Answered, subject?: RefusalSubject): Refused => {
    const answers = [...asked.values()].map(({ id }) => failedAnswer(message, id))
    const text = answers.length === 0 ? failedAnswer(message) : joined(answers, isBatch)
    return refused(jsonText(status, text, `gatehouse_${code}`, headers), problem, {
      tool: onlyToolOf(asked),
      ...subject,
    })
  }

/** Returns the name of the tool that the only request names. */
const onlyToolOf = (asked: AskedCalls): string | undefined =>
  asked.size === 1 ? [...asked.values()][0]?.tool.name : undefined

/** Message of an error for which no webhook gave a verdict. */
export const GUARD_UNAVAILABLE = 'The guardrail is unavailable.'

/** Returns the refusal when a webhook that fails closed has given no verdict. */
export const mcpUnavailable = failed({
  status: 503,
  code: 'guardrail_unavailable',
  message: GUARD_UNAVAILABLE,
  problem: WEBHOOK_UNAVAILABLE,
})

/** Returns the refusal when the budget of held bytes is used up. */
export const mcpBusy = failed({
  status: 503,
  code: 'guardrail_busy',
  message: 'The guardrail holds as much as it may; try again.',
  problem: BUSY,
  headers: { 'retry-after': '5' },
})

/** Returns the refusal of a message beyond --max-body-bytes. */
export const mcpTooLarge = failed({
  status: 413,
  code: 'guardrail_too_large',
  message: 'The body is larger than the guardrail may read.',
  problem: 'the body is too large',
})

/** Returns the refusal of a message that does not arrive within --body-timeout. */
export const mcpTooSlow = failed({
  status: 408,
  code: 'guardrail_body_timeout',
  message: 'The body did not come in time.',
  problem: 'the body did not come in time',
})

/** Returns the message of an error for a reply that cannot be read. */
export const unreadableText = (problem: string): string =>
  `The guardrail cannot read the reply: ${problem}.`

/** A reply of the server that cannot be read. */
export const unreadableMcpReply = (problem: string, answered: Answered): Refused =>
  failed({
    status: 503,
    code: 'guardrail_unreadable',
    message: unreadableText(problem),
    problem,
  })(answered)

/** A request that is not a message of MCP. */
export const unreadableMcpRequest = (problem: McpProblem, subject?: RefusalSubject): Refused =>
  refused(
    jsonText(400, problemBody(problem), 'gatehouse_guardrail_unreadable'),
    problem.message,
    subject,
  )

function jsonText(
  status: number,
  text: string,
  details: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: Buffer.from(text),
    details,
  }
}
