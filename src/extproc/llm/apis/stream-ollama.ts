// Reads a line of a streamed reply of Ollama: the next part of a message, or of one text.

import {
  asObject,
  asString,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { goingOn, spokenAt, type TextsAndEnds, together } from '../text/event-texts.js'
import { below, type FoundText, foundText, type Source } from '../text/found-text.js'
import { roleOf } from '../text/message.js'
import { sweepObject } from '../text/sweep.js'
import { addEchoes } from '../text/tokens.js'
import { besideEvent } from './beside.js'
import { IN_MESSAGE_REPLY } from './message-replies.js'
import { MESSAGES } from './messages.js'

/** Whether an event, which has no type, is a line of Ollama's. */
export const isOllamaEvent = (root: JsonObjectNode): boolean =>
  root.members.get('done')?.type === 'boolean' &&
  (root.members.get('message')?.type === 'object' ||
    root.members.get('response')?.type === 'string')

const READ = ['message', 'response', 'thinking', 'context']
const ROLE: ReadonlySet<string> = new Set(['role'])

export function* readOllamaEvent(json: Source, root: JsonObjectNode): Work<TextsAndEnds> {
  const at = spokenAt(json, 'reply')
  const found: FoundText[] = []
  for (const name of ['response', 'thinking']) {
    const node = present(member(root, name))
    if (node !== undefined) found.push(foundText(asString(node, name), below(at, name)))
  }
  const given = present(member(root, 'message'))
  if (given !== undefined) {
    const message = asObject(given, 'the message')
    const role = roleOf(message, 'assistant')
    const of = spokenAt(json, 'message', role)
    yield* sweepObject(message, 'message', of, MESSAGES, found, { skip: ROLE })
  }
  const context = present(member(root, 'context'))
  if (context !== undefined) {
    yield* addEchoes(found, 0, [{ name: 'context', node: context }], at)
    // It encodes all that was said, in the last line.
    for (const [index, text] of found.entries()) found[index] = { ...text, echoesAll: true }
  }
  const beside = yield* besideEvent(root, spokenAt(json, 'event'), READ, IN_MESSAGE_REPLY)
  return together([goingOn(found), beside, { texts: [], ends: endsIn(json, root, found) }])
}

/** A model thinks before it speaks: its thoughts need not wait for the end of its content. */
function endsIn(
  json: Source,
  root: JsonObjectNode,
  found: readonly FoundText[],
): readonly string[] {
  const done = root.members.get('done')
  if (done !== undefined && json.text.slice(done.start, done.end) === 'true') return ['']
  return found.some(({ channel, text }) => SPEAKS.has(channel) && text !== '') ? THOUGHTS : []
}

const SPEAKS: ReadonlySet<string> = new Set(['message content', 'reply response'])
const THOUGHTS = ['message thinking', 'reply thinking']
