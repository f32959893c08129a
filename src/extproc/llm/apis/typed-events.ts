// Reads events whose type says which of their members continue a text, and which other member tells the texts of that
// type apart: those of the AI SDK and of AG-UI.

import type { JsonNode } from '../../../kit/json/json-node.js'
import { asString, type JsonObjectNode, member, present } from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import { callNames } from '../text/calls.js'
import { goingOn, spokenAt, type TextsAndEnds, together, whole } from '../text/event-texts.js'
import type { Form } from '../text/form.js'
import { callOf, type FoundText, foundText, type Source } from '../text/found-text.js'
import { besideEvent } from './beside.js'

/** What the events of a type say. */
export interface TypedEvent {
  /** Member that tells the texts of this kind apart; absent: there is one at a time. */
  readonly id?: string
  /** Member with the next part of a text. */
  readonly part?: string
  /** Member with all that a tool is called with. */
  readonly call?: string
  /** Name of the text, the same in all of its events. */
  readonly of: string
  /** Whether the text is what a tool is called with, as JSON. */
  readonly isCall?: boolean
  /** Whether the text begins, with nothing in it. */
  readonly isStart?: boolean
  /** Whether the text ends. */
  readonly isEnd?: boolean
}

/** form: of what the event has beside its text. */
export function* readTypedEvent(
  json: Source,
  root: JsonObjectNode,
  event: TypedEvent,
  form: Form,
): Work<TextsAndEnds> {
  const { id, part = '', call = '', of, isCall, isEnd, isStart } = event
  const word = id === undefined ? of : idWord(member(root, id))
  const channel = id === undefined ? of : `${word} ${of}`
  const at = spokenAt(json, channel)
  const found: TextsAndEnds[] = []
  const text = present(member(root, part))
  if (text !== undefined) {
    const node = asString(text, part)
    const said = isCall === true ? yield* callOf(node, at, true) : foundText(node, at)
    const call = isCall === true ? callNames(json.text, [root], ['toolCallId']) : undefined
    found.push(goingOn([{ ...said, continues: true, ...(call !== undefined && { call }) }]))
  }
  const type = present(member(root, 'type'))
  if (isStart === true && type?.type === 'string') {
    // It says nothing yet. Parts under an id that no event has begun continue the last text.
    const said = isCall === true ? yield* callOf(type, at, true) : foundText(type, at)
    found.push(goingOn([{ ...said, text: '' }]))
  }
  const input = present(member(root, call))
  if (input !== undefined) found.push(yield* wholeCall(input, spokenAt(json, `${channel} whole`)))
  // What is beside a text is about all that has its id.
  const around = { ...spokenAt(json, 'event'), about: { object: root, channel: word } }
  found.push(yield* besideEvent(root, around, [part, call], form))
  if (isEnd === true) found.push({ texts: [], ends: [channel] })
  return together(found)
}

function* wholeCall(input: JsonNode, at: ReturnType<typeof spokenAt>): Work<TextsAndEnds> {
  const found: FoundText[] = [yield* callOf(input, at, input.type !== 'string')]
  return whole(found)
}

/** Longer ids are told apart by their beginning. */
const LONGEST_ID = 128

/** Returns the word of an id in a channel. The mark tells it from the name of a member. */
function idWord(node: JsonNode | undefined): string {
  if (node?.type !== 'string') return '~'
  return `~${node.value.slice(0, LONGEST_ID).replaceAll(/\s/g, '_')}`
}
