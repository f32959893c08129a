// Asks the webhooks about a conversation of either phase and applies their verdict to the body.

import { inTurns } from '../../kit/turns.js'
import { changesSigned, type Conversation, rewrite } from '../llm/text/conversation.js'
import type { Reply } from '../session/immediate-response.js'
import { askWebhooks, SIGNED_REJECT } from '../webhook/ask-webhooks.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import type { Question } from '../webhook/question.js'
import type { RefusalSubject } from '../webhook/refusal-log.js'
import { rejectReply, unavailable } from './guard-reply.js'

/** Gatehouse's own answer in place of the body. problem: for the log, without any text of the prompt or reply. */
export interface Refused {
  readonly type: 'refused'
  readonly reply: Reply
  readonly problem: string
  readonly subject?: RefusalSubject | undefined
}

/** The stream has ended: nobody waits for the result any more. */
export interface Aborted {
  readonly type: 'aborted'
}

/** text: the body's text with the changes of the webhooks. */
export type Inspected = { readonly type: 'passed'; readonly text: string } | Refused | Aborted

/** Asks the webhooks about a conversation and writes their changes into its body. */
export async function inspectConversation(
  {
    conversation,
    refusesSigned,
    ...question
  }: Omit<Question, 'entries'> & {
    readonly conversation: Conversation
    /** Whether a change of a text that its provider has signed counts as a reject. */
    readonly refusesSigned: boolean
  },
  deps: GuardDeps,
): Promise<Inspected> {
  const { signal, phase } = question
  const { entries, json, companions } = conversation
  const decision = await askWebhooks({ ...question, entries }, deps)
  switch (decision.type) {
    case 'pass': {
      const { contents } = decision
      const isSame = entries.every(({ content }, index) => content === contents[index])
      if (isSame && companions === undefined) return { type: 'passed', text: json.text }
      if (refusesSigned && !isSame) {
        const isRefused = await inTurns(changesSigned(conversation, contents), signal)
        if (isRefused === undefined) return ABORTED
        if (isRefused)
          return refused(
            rejectReply(conversation.api, SIGNED_REJECT),
            'a webhook changed a signed text',
          )
      }
      const text = await inTurns(rewrite(conversation, contents, phase), signal)
      return text === undefined ? ABORTED : { type: 'passed', text }
    }
    case 'reject':
      return refused(rejectReply(conversation.api, decision), 'rejected by a webhook')
    case 'unavailable':
      return refused(unavailable(conversation.api), 'a webhook is unavailable', {
        webhook: decision.webhook,
      })
    case 'aborted':
      return decision
  }
}

const ABORTED: Aborted = { type: 'aborted' }

/** Returns a refusal with its reply. problem: for the log. */
export const refused = (reply: Reply, problem: string, subject?: RefusalSubject): Refused => ({
  type: 'refused',
  reply,
  problem,
  subject,
})
