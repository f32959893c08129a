// Reads what replies and events contain besides the model's words: errors, tool definitions, additions by servers.

import type { JsonNode } from '../../json/json-node.js'
import type { JsonObjectNode } from '../../json/members.js'
import type { Work } from '../../turns.js'
import { beside, type TextsAndEnds } from '../text/event-texts.js'
import type { At, FoundText } from '../text/found-text.js'
import { formOf, sweepMember, sweepObject, UNKNOWN } from '../text/sweep.js'

const BESIDE = formOf({ '': { error: 'error', tools: 'definition', output_text: 'text' } })

/** read: members that are read separately. */
export function* besideIn(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  yield* sweepObject(object, '', at, BESIDE, found, { skip: new Set(read) })
  return found
}

/** Reads the same of an event. */
export function* besideEvent(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
): Work<TextsAndEnds> {
  return yield* beside(yield* besideIn(object, at, read), object, at)
}

/** Reads an error, whose own words pass unseen, or any other JSON. */
export function* anythingIn(node: JsonNode, at: At, isError: boolean): Work<readonly FoundText[]> {
  const found: FoundText[] = []
  const holds = isError ? 'error' : undefined
  yield* sweepMember(node, { name: '', owner: '', holds }, at, UNKNOWN, found)
  return found
}
