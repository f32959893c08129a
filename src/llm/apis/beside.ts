// Reads what replies and events contain besides the model's words: errors, tool definitions, additions by servers.

import type { JsonNode } from '../../json/json-node.js'
import type { JsonObjectNode } from '../../json/members.js'
import type { Work } from '../../turns.js'
import { beside, type TextsAndEnds } from '../text/event-texts.js'
import type { At, FoundText } from '../text/found-text.js'
import { type Form, formOf, sweepMember, sweepObject, UNKNOWN } from '../text/sweep.js'

const IN_REPLY = formOf({ '': { tools: 'definition', output_text: 'text' } })
/** An error ends the stream, and its own words pass unseen. */
const IN_EVENT = formOf({ '': { error: 'error', tools: 'definition', output_text: 'text' } })

/** Reads a whole reply. An error beside the model's words is shown like them. read: members that are read separately. */
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
  yield* sweepObject(object, '', at, form, found, { skip: new Set(read) })
  return found
}

/** Reads an error, whose own words pass unseen, or any other JSON. */
export function* anythingIn(node: JsonNode, at: At, isError: boolean): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  const holds = isError ? 'error' : undefined
  yield* sweepMember(node, { name: '', owner: '', holds }, at, UNKNOWN, found)
  return found
}
