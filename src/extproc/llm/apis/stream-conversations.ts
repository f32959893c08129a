// Reads an event of a streamed reply of Mistral's conversations: parts of messages and of calls, by the number of their
// output.

import { type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import { goingOn, indexOf, spokenAt, type TextsAndEnds, together } from '../text/event-texts.js'
import { callOf, type FoundText, type Source } from '../text/found-text.js'
import { sweepMember } from '../text/sweep.js'
import { besideEvent } from './beside.js'
import { BESIDE_ENTRIES, ENTRIES } from './entries.js'

const EVENT =
  /^(?:conversation\.response\.(?:started|done|error)|message\.output\.delta|function\.call\.delta|(?:tool\.execution|agent\.handoff)\.\w+)$/

/** Whether an event of this type belongs to Mistral's conversations. */
export const isConversationEvent = (type: string): boolean => EVENT.test(type)

/** type: one that isConversationEvent() accepts. */
export function* readConversationEvent(
  json: Source,
  root: JsonObjectNode,
  type: string,
): Work<TextsAndEnds> {
  const index = indexOf(json, member(root, 'output_index'))
  const at = spokenAt(json, index)
  const found: FoundText[] = []
  const content = present(member(root, 'content'))
  if (content !== undefined)
    yield* sweepMember(content, { name: 'content', holds: 'inner' }, at, ENTRIES, found)
  // A part is a string or an object with one.
  const texts = found.map((text): FoundText =>
    text.channel === `${index} content text`
      ? { ...text, channel: `${index} content`, continues: true }
      : { ...text, continues: true },
  )
  const call = CALL.test(type) ? present(member(root, 'arguments')) : undefined
  if (call !== undefined)
    texts.push({
      ...(yield* callOf(call, spokenAt(json, `${index} arguments`), true)),
      call: callNames(json.text, [root], ['tool_call_id', 'id']) ?? {},
    })
  const read = ['content', ...(call === undefined ? [] : ['arguments'])]
  return together([
    goingOn(texts),
    yield* besideEvent(root, spokenAt(json, 'event'), read, BESIDE_ENTRIES),
    { texts: [], ends: endsWith(type, index) },
  ])
}

const CALL = /^(?:function\.call|tool\.execution)\./

function endsWith(type: string, index: string): readonly string[] {
  if (type.startsWith('conversation.response.') && !type.endsWith('started')) return ['']
  return type === 'tool.execution.done' ? [`${index} arguments`] : []
}
