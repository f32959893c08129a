// Reads a whole reply of Anthropic's messages API.

import { asArray, type JsonObjectNode, member } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from '../text/conversation.js'
import type { FoundText, Source } from '../text/found-text.js'
import { messageEntries, roleOf } from '../text/message.js'
import { sweepMember } from '../text/sweep.js'
import { MESSAGES } from './messages.js'

/** body: has content. */
export function* readContent(body: JsonObjectNode, json: Source): Work<readonly Entry[]> {
  const role = roleOf(body, 'assistant')
  const content = asArray(member(body, 'content'), 'content')
  const found: FoundText[] = []
  const at = { json, role, toolRole: role }
  yield* sweepMember(content, { name: 'content', holds: 'inner' }, at, MESSAGES, found)
  return yield* messageEntries(json, found, role)
}
