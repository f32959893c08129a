// Reads what replies and events contain besides the model's words: errors, tool definitions, additions by servers.

import type { JsonNode } from '../../json/json-node.js'
import type { JsonObjectNode } from '../../json/members.js'
import type { Work } from '../../turns.js'
import { beside, type TextsAndEnds } from '../text/event-texts.js'
import { type Form, formOf, type Holds } from '../text/form.js'
import type { At, FoundText } from '../text/found-text.js'
import { ANSWER, OF_EVENT, OF_REPLY } from '../text/settings.js'
import { sweepMember, sweepObject } from '../text/sweep.js'

const OWN: Readonly<Record<string, Holds>> = { tools: 'definition', output_text: 'text' }
/** The form of a whole reply outside the model's words. */
export const IN_REPLY = formOf({ reply: OWN }, OF_REPLY)
const IN_EVENT = formOf({ reply: OWN }, OF_REPLY, OF_EVENT)

/** Reads a whole reply. read: members that are read separately. */
export function* besideIn(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
): Work<readonly FoundText[]> {
  return yield* besideWith(IN_REPLY, object, at, read)
}

/** Reads an event. read: members that are read separately. */
export function* besideEvent(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
): Work<TextsAndEnds> {
  return yield* beside(yield* besideWith(IN_EVENT, object, at, read), object, at)
}

function* besideWith(
  form: Form,
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  yield* sweepObject(object, 'reply', at, form, found, { skip: new Set(read) })
  return found
}

/** Reads any other JSON, such as an error. name: the member of a reply that it is, if any. */
export function* anythingIn(node: JsonNode, at: At, name = ''): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  if (node.type === 'object') yield* sweepObject(node, 'reply', at, ANSWER, found)
  else yield* sweepMember(node, { name, holds: 'open' }, at, ANSWER, found)
  return found
}
