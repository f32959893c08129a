// A conversation of either phase and what its webhooks decide → what may become of the body.

import { type Conversation, rewrite } from '../../llm/text/conversation.js'
import type { Reply } from '../stream/immediate-response.js'
import { askWebhooks, type GuardDeps, type Question } from '../webhook/ask-webhooks.js'
import { rejectReply, unavailable } from './guard-reply.js'

/** An answer of ours in place of the body. problem: for the log, without any text of prompt or reply. */
export interface Refused {
  readonly type: 'refused'
  readonly reply: Reply
  readonly problem: string
}

/** Nobody waits for the answer any more. */
export interface Aborted {
  readonly type: 'aborted'
}

/** text: the body's, with the changes of the webhooks. */
export type Inspected = { readonly type: 'passed'; readonly text: string } | Refused | Aborted

export async function inspectConversation(
  {
    conversation,
    ...question
  }: Omit<Question, 'entries'> & { readonly conversation: Conversation },
  deps: GuardDeps,
): Promise<Inspected> {
  const entries = conversation.entries.map((entry) => ({
    ...entry,
    isWritable: entry.place !== undefined,
  }))
  const decision = await askWebhooks({ ...question, entries }, deps)
  switch (decision.type) {
    case 'pass':
      return { type: 'passed', text: rewrite(conversation, decision.contents) }
    case 'reject':
      return refused(rejectReply(decision.status, decision.text), 'rejected by a webhook')
    case 'unavailable':
      return refused(unavailable(conversation.api), 'a webhook is unavailable')
    case 'aborted':
      return decision
  }
}

export const refused = (reply: Reply, problem: string): Refused => ({
  type: 'refused',
  reply,
  problem,
})
