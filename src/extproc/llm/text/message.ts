// Reads one message: its texts, of which there is at least one, then its tool calls (decisions 19 and 19a).

import { type JsonNode, span } from '../../../kit/json/json-node.js'
import { asString, type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import type { Work } from '../../../kit/turns.js'
import type { Entry } from './conversation.js'
import type { Form } from './form.js'
import type { At, FoundText, Source } from './found-text.js'
import { sweepMember, sweepObject } from './sweep.js'

/** otherwise: the role if the message names none. */
export function roleOf(message: JsonObjectNode, otherwise?: string): string {
  const given = present(member(message, 'role'))
  if (given === undefined && otherwise !== undefined) return otherwise
  const role = asString(given, 'a role').value
  if (role === '' && otherwise !== undefined) return otherwise
  if (!/^(?:[a-z][\w-]{0,31})?$/i.test(role)) throw new UnreadableForm('a role is not a word')
  return role
}

const READ: ReadonlySet<string> = new Set(['role', 'content'])

/** at: has the message's role. content is read first, as in every version of the APIs. */
export function* sweepMessage(
  message: JsonObjectNode,
  owner: string,
  at: At,
  form: Form,
  out: FoundText[],
): Work<void> {
  const content = member(message, 'content')
  if (content !== undefined)
    yield* sweepMember(content, { name: 'content', holds: 'inner' }, at, form, out)
  yield* sweepObject(message, owner, at, form, out, { skip: READ })
}

/** json: the body that contains it. content: null where text can be put into a message that has none. */
export function* messageEntries(
  json: Source,
  found: readonly FoundText[],
  role: string,
  content?: JsonNode,
): Work<readonly Entry[]> {
  const texts = found.filter(({ kind }) => kind === 'text')
  // Most messages have texts alone.
  if (texts.length > 0 && texts.length === found.length)
    return numberedParts(json, yield* entriesOf(json, texts))
  const place = content?.type === 'null' ? { place: span(content) } : {}
  const none: readonly Entry[] = [{ kind: 'text', role, content: '', ...place }]
  return [
    ...numberedParts(json, texts.length === 0 ? none : yield* entriesOf(json, texts)),
    ...(yield* entriesOf(
      json,
      found.filter(({ kind }) => kind !== 'text'),
    )),
  ]
}

/** Counts a message, and numbers its texts if there are several. texts: all of one message. */
export function numberedParts(json: Source, texts: readonly Entry[]): readonly Entry[] {
  const message = json.messages
  json.messages += 1
  const { length } = texts
  if (length < 2) return texts
  return texts.map((entry, index) => ({ ...entry, part: { message, index, of: length } }))
}

/** json: the body that contains them. */
export function* entriesOf({ pace }: Source, found: readonly FoundText[]): Work<readonly Entry[]> {
  const entries: Entry[] = []
  for (const { kind, role, text, place, form, isJson, echoes, prefix } of found) {
    if (pace.isDue()) yield
    const entry: Entry = { kind, role, content: text, place, form }
    const isPlain = isJson === undefined && echoes === undefined && prefix === undefined
    entries.push(
      isPlain
        ? entry
        : {
            ...entry,
            ...(isJson === undefined ? {} : { isJson }),
            ...(echoes === undefined ? {} : { echoes }),
            ...(prefix === undefined ? {} : { prefix }),
          },
    )
  }
  return entries
}
