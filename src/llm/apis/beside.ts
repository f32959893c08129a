// Reads what replies and events contain besides the model's words: errors, tool definitions, additions by servers.

import type { JsonNode } from '../../json/json-node.js'
import type { JsonObjectNode } from '../../json/members.js'
import type { Work } from '../../turns.js'
import type { At, SaidText } from '../text/said.js'
import { beside, type Said } from '../text/stream-said.js'
import { formOf, sweepMember, sweepObject, UNKNOWN } from '../text/sweep.js'

const BESIDE = formOf({ '': { error: 'error', tools: 'definition', output_text: 'text' } })

/** read: members that are read separately. */
export function* besideIn(
  object: JsonObjectNode,
  at: At,
  read: readonly string[],
): Work<readonly SaidText[]> {
  const said: SaidText[] = []
  yield* sweepObject(object, '', at, BESIDE, said, { skip: new Set(read) })
  return said
}

/** Reads the same of an event. */
export function* besideEvent(object: JsonObjectNode, at: At, read: readonly string[]): Work<Said> {
  return yield* beside(yield* besideIn(object, at, read), object, at)
}

/** Reads an error, whose own words pass unseen, or any other JSON. */
export function* anythingIn(node: JsonNode, at: At, isError: boolean): Work<readonly SaidText[]> {
  const said: SaidText[] = []
  const holds = isError ? 'error' : undefined
  yield* sweepMember(node, { name: '', owner: '', holds }, at, UNKNOWN, said)
  return said
}
