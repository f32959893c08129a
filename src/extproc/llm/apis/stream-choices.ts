// Reads a chunk of a streamed OpenAI chat completion or completion: the next part of every choice.

import {
  asArray,
  asObject,
  asString,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import {
  beside,
  goingOn,
  indexOf,
  isGiven,
  ofChoice,
  repeated,
  spokenAt,
  type TextsAndEnds,
  together,
} from '../text/event-texts.js'
import { type At, below, type FoundText, foundText, type Source } from '../text/found-text.js'
import { roleOf } from '../text/message.js'
import { sweepObject } from '../text/sweep.js'
import { besideEvent, IN_CHUNK } from './beside.js'
import { MESSAGES } from './messages.js'

/** root: has choices. */
export function* readChunk(json: Source, root: JsonObjectNode): Work<TextsAndEnds> {
  const found: TextsAndEnds[] = []
  const choices = present(member(root, 'choices'))
  const items = choices === undefined ? [] : asArray(choices, 'choices').items
  for (const [at, item] of items.entries()) {
    const choice = asObject(item, 'a choice')
    const index = indexOf(json, member(choice, 'index'), at)
    found.push(yield* ofChoice(json, index, (channel) => readChoice(json, choice, channel)))
  }
  found.push(yield* besideEvent(root, spokenAt(json, 'event'), ['choices'], IN_CHUNK))
  return together(found)
}

const READ: ReadonlySet<string> = new Set(['delta', 'message', 'text'])

function* readChoice(json: Source, choice: JsonObjectNode, channel: string): Work<TextsAndEnds> {
  if (json.pace.isDue()) yield
  const [delta, message, text] = ['delta', 'message', 'text'].map((name) =>
    present(member(choice, name)),
  )
  const at = spokenAt(json, channel)
  const found: FoundText[] = []
  // Member of completions; some servers of chat completions send it beside the delta.
  if (text !== undefined) found.push(foundText(asString(text, 'text'), below(at, 'text')))
  if (delta !== undefined) yield* deltaTexts(asObject(delta, 'a delta'), at, found)
  if (message !== undefined) yield* messageTexts(asObject(message, 'a message'), at, found)
  const begun = found.length
  yield* sweepObject(choice, 'choices', at, MESSAGES, found, { skip: READ, first: 0 })
  const { texts, ends } = together([
    goingOn(found.slice(0, begun)),
    yield* beside(found.slice(begun), choice, at),
  ])
  const isLast = isGiven(member(choice, 'finish_reason'))
  return { texts, ends: isLast ? [channel] : [...ends, ...overIn(choice, texts, channel)] }
}

/** Channels that end early. A model thinks before it speaks: its thoughts need not wait for the end of its content. */
function overIn(
  choice: JsonObjectNode,
  texts: readonly FoundText[],
  channel: string,
): readonly string[] {
  const speaks = (of: string): boolean =>
    texts.some((text) => text.channel === `${channel} ${of}` && text.text !== '')
  const thoughts = THOUGHTS.filter((name) => speaks('content') && !speaks(name))
  // Log probabilities that are ahead of the text need not wait for more of their kind.
  const isAhead =
    present(choice.members.get('logprobs')) !== undefined &&
    !speaks('logprobs') &&
    texts.some(({ text }) => text !== '')
  return [...thoughts, ...(isAhead ? ['logprobs'] : [])].map((name) => `${channel} ${name}`)
}

const THOUGHTS = ['reasoning', 'reasoning_content', 'reasoning_details', 'content thinking']

function* deltaTexts(delta: JsonObjectNode, around: At, out: FoundText[]): Work<void> {
  const at = { ...around, role: roleOf(delta, around.role) }
  const found: FoundText[] = []
  yield* sweepContent(delta, at, found)
  yield* sweepObject(delta, 'delta', at, MESSAGES, found, { skip: NO_CALLS, first: 0 })
  yield* callTexts(delta, at, found)
  append(out, found)
}

function append(out: FoundText[], found: readonly FoundText[]): void {
  for (const text of found) out.push(text)
}

/** Some servers send the message so far, or the whole one, beside or instead of a delta. */
function* messageTexts(message: JsonObjectNode, around: At, out: FoundText[]): Work<void> {
  const at = { ...around, role: roleOf(message, around.role) }
  const isText = present(member(message, 'content'))?.type !== 'array'
  if (!isText) yield* sweepContent(message, below(at, 'message'), out)
  const found: FoundText[] = []
  if (isText) yield* sweepContent(message, at, found)
  yield* sweepObject(message, 'message', at, MESSAGES, found, { skip: NO_CALLS, first: 0 })
  yield* callTexts(message, at, found)
  append(out, repeated(found))
}

const NO_CALLS: ReadonlySet<string> = new Set(['role', 'content', 'tool_calls', 'function_call'])

/** Reads parts of content, wherever they are in their list: the text of each continues the one before. */
function* sweepContent(message: JsonObjectNode, around: At, out: FoundText[]): Work<void> {
  const content = present(member(message, 'content'))
  const at = below(around, 'content')
  if (content?.type === 'string') out.push(foundText(content, at))
  else if (content !== undefined)
    for (const item of asArray(content, 'content').items) {
      const found: FoundText[] = []
      yield* sweepObject(asObject(item, 'a part of content'), 'content', at, MESSAGES, found)
      for (const text of found)
        out.push(
          text.channel === `${at.channel} text` ? { ...text, channel: at.channel ?? '' } : text,
        )
    }
}

/** Reads tool calls. A call continues under its number, whose channel has only the arguments. */
function* callTexts(message: JsonObjectNode, at: At, out: FoundText[]): Work<void> {
  const calls = present(member(message, 'tool_calls'))
  const items = calls === undefined ? [] : asArray(calls, 'tool_calls').items
  const old = present(member(message, 'function_call'))
  for (const [index, item] of items.entries()) {
    const call = asObject(item, 'a tool call')
    const number = indexOf(at.json, member(call, 'index'), index)
    yield* callText(call, 'tool_calls', below(below(at, 'tool_calls'), number), out)
  }
  if (old === undefined) return
  const call = asObject(old, 'a function call')
  yield* callText(call, 'function_call', below(at, 'function_call'), out)
}

function* callText(call: JsonObjectNode, owner: string, at: At, out: FoundText[]): Work<void> {
  const found: FoundText[] = []
  yield* sweepObject(call, owner, at, MESSAGES, found)
  const names = callNames(at.json.text, [call, member(call, 'function'), member(call, 'custom')])
  const begun = names === undefined ? { continues: true } : { call: names }
  for (const text of found)
    out.push(text.kind === 'tool-call' ? { ...text, channel: at.channel ?? '', ...begun } : text)
}
