// Reads what replies and events contain besides the model's words: errors, tool definitions, additions by servers.

import type { JsonNode } from '../../../kit/json/json-node.js'
import type { JsonObjectNode } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { beside, type TextsAndEnds } from '../text/event-texts.js'
import { type Form, formOf } from '../text/form.js'
import type { At, FoundText } from '../text/found-text.js'
import {
  ANSWER,
  OF_CHUNK,
  OF_MESSAGE_EVENT,
  OF_REPLY,
  OF_RESPONSE_EVENT,
} from '../text/settings.js'
import { sweepMember, sweepObject } from '../text/sweep.js'

/** A response of OpenAI repeats the definitions of its tools. */
const OWN = { reply: { tools: 'definition', output_text: 'text' } } as const

/** The form of a whole reply outside the model's words. */
export const IN_REPLY = formOf({}, OF_REPLY)
/** The same for a response of OpenAI. */
export const IN_RESPONSE = formOf(OWN, OF_REPLY)
/** The form of a chunk of choices outside the model's words. */
export const IN_CHUNK = formOf({}, OF_REPLY, OF_CHUNK)
/** The same for Anthropic's events. */
export const IN_MESSAGE_EVENT = formOf({}, OF_REPLY, OF_MESSAGE_EVENT)
/** The same for events of OpenAI's responses. */
export const IN_RESPONSE_EVENT = formOf({}, OF_REPLY, OF_RESPONSE_EVENT)

/** Reads a whole reply. read: members that are read separately. */
export function* besideIn(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
  form: Form,
): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  yield* sweepObject(object, 'reply', at, form, found, { skip: new Set(read) })
  return found
}

/** Reads an event, or a reply in one. read: members that are read separately. */
export function* besideEvent(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
  form: Form,
): Work<TextsAndEnds> {
  return yield* beside(yield* besideIn(object, at, read, form), object, at)
}

/** Reads any other JSON, such as an error. name: the member of a reply that it is, if any. */
export function* anythingIn(node: JsonNode, at: At, name = ''): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  if (node.type === 'object') yield* sweepObject(node, 'reply', at, ANSWER, found)
  else yield* sweepMember(node, { name, holds: 'open' }, at, ANSWER, found)
  return found
}
