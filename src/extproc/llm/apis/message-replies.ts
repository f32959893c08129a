// Reads whole replies that are one message: those of Cohere, of Ollama and of Bedrock, and Ollama's of one text.

import { asObject, type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import { formOf } from '../text/form.js'
import type { At, FoundText, Source } from '../text/found-text.js'
import { messageEntries, roleOf, sweepMessage } from '../text/message.js'
import { OF_REPLY } from '../text/settings.js'
import { sweepObject } from '../text/sweep.js'
import { addEchoes } from '../text/tokens.js'
import { MESSAGES } from './messages.js'

/** What such replies and their events have beside the message. */
export const IN_MESSAGE_REPLY = formOf(
  { reply: { response: 'text', thinking: 'text' } },
  OF_REPLY,
  {
    reply: {
      word: 'finish_reason done_reason stopReason',
      date: 'created_at',
      open: 'metrics performanceConfig serviceTier',
    },
    performanceConfig: { word: 'latency' },
  },
)

/** body: has message. What surrounds it may repeat it as tokens. */
export function* readMessageReply(body: JsonObjectNode, json: Source): Work<readonly Entry[]> {
  return yield* readReply(body, asObject(member(body, 'message'), 'the message'), 'message', json)
}

/** body: has an output with the message, as Bedrock has. */
export function* readConverse(body: JsonObjectNode, json: Source): Work<readonly Entry[]> {
  const output = asObject(member(body, 'output'), 'the output')
  const message = asObject(member(output, 'message'), 'the message')
  const entries = yield* readReply(body, message, 'output', json)
  const beside: FoundText[] = []
  yield* sweepObject(output, 'output', saidAt(json), MESSAGES, beside, { skip: MESSAGE })
  return beside.length === 0
    ? entries
    : [...entries, ...(yield* messageEntries(json, beside, 'assistant'))]
}

const MESSAGE: ReadonlySet<string> = new Set(['message'])

const saidAt = (json: Source, role = 'assistant'): At => ({ json, role, toolRole: role })

/** name: the member of the body that has the message. */
function* readReply(
  body: JsonObjectNode,
  message: JsonObjectNode,
  name: string,
  json: Source,
): Work<readonly Entry[]> {
  const role = roleOf(message, 'assistant')
  const at = saidAt(json, role)
  const found: FoundText[] = []
  yield* sweepMessage(message, 'message', at, MESSAGES, found)
  const skip = new Set([name])
  yield* sweepObject(body, 'reply', at, IN_MESSAGE_REPLY, found, { skip, first: 0 })
  return yield* messageEntries(json, found, role, member(message, 'content'))
}

/** body: has a response, one text. Ollama's context repeats it, with the prompt, as tokens. */
export function* readTextReply(body: JsonObjectNode, json: Source): Work<readonly Entry[]> {
  const at = saidAt(json)
  const found: FoundText[] = []
  const skip = new Set(['context'])
  yield* sweepObject(body, 'reply', at, IN_MESSAGE_REPLY, found, { skip })
  const context = present(member(body, 'context'))
  if (context !== undefined) yield* addEchoes(found, 0, [{ name: 'context', node: context }], at)
  return yield* messageEntries(json, found, 'assistant')
}
