// Reads a chunk of a streamed reply of Gemini's generateContent: parts of every candidate, and tool calls.

import type { JsonNode } from '../../../kit/json/json-node.js'
import {
  asArray,
  asObject,
  type JsonObjectNode,
  member,
  present,
} from '../../../kit/json/members.js'
import type { Work } from '../../../kit/turns.js'
import {
  beside,
  eventTexts,
  indexOf,
  isGiven,
  ofChoice,
  spokenAt,
  type TextsAndEnds,
  together,
} from '../text/event-texts.js'
import { type At, below, type FoundText, type Source } from '../text/found-text.js'
import { sweepObject } from '../text/sweep.js'
import { besideEvent, IN_REPLY } from './beside.js'
import { CONTENTS, geminiRole } from './gemini.js'

/** Members of a chunk; any of them marks it as Gemini's. */
export const GEMINI_MARKS = ['candidates', 'promptFeedback', 'usageMetadata'] as const

export function* readGeminiChunk(json: Source, root: JsonObjectNode): Work<TextsAndEnds> {
  const candidates = present(member(root, 'candidates'))
  const items = candidates === undefined ? [] : asArray(candidates, 'candidates').items
  const found: TextsAndEnds[] = []
  for (const [at, item] of items.entries()) {
    const candidate = asObject(item, 'a candidate')
    const index = indexOf(json, member(candidate, 'index'), at)
    found.push(yield* ofChoice(json, index, (channel) => readCandidate(json, candidate, channel)))
  }
  found.push(yield* besideEvent(root, spokenAt(json, 'event'), ['candidates'], IN_REPLY))
  return together(found)
}

const CONTENT: ReadonlySet<string> = new Set(['content'])

function* readCandidate(
  json: Source,
  candidate: JsonObjectNode,
  channel: string,
): Work<TextsAndEnds> {
  if (json.pace.isDue()) yield
  const given = present(member(candidate, 'content'))
  const content = given === undefined ? undefined : asObject(given, 'content')
  const role = content === undefined ? 'assistant' : geminiRole(content, 'model')
  const spoken = spokenAt(json, channel, role)
  const found: FoundText[] = content === undefined ? [] : yield* contentTexts(content, spoken)
  const begun = found.length
  yield* sweepObject(candidate, 'candidates', spoken, CONTENTS, found, { skip: CONTENT, first: 0 })
  const goesOn = new Set(['text', 'thought', 'part'].map((word) => `${channel} ${word}`))
  const { texts, ends } = together([
    eventTexts(
      found.slice(0, begun),
      (one) => goesOn.has(one) || one.startsWith(`${channel} part `) || IN_CALL.test(one),
    ),
    yield* beside(found.slice(begun), candidate, spoken),
  ])
  // A model thinks before it speaks: its thoughts need not wait for the end of its text.
  const speaks = texts.some((text) => text.channel === `${channel} text` && text.text !== '')
  const isLast = isGiven(member(candidate, 'finishReason'))
  if (isLast) return { texts, ends: [channel] }
  return { texts, ends: [...ends, ...(speaks ? [`${channel} thought`] : [])] }
}

/** Channels of arguments that arrive in parts. */
const IN_CALL = /^\S+ (?:call|toolCall) \d+ /

const PARTS: ReadonlySet<string> = new Set(['parts', 'role'])

function* contentTexts(content: JsonObjectNode, at: At): Work<FoundText[]> {
  const parts = present(member(content, 'parts'))
  const items = parts === undefined ? [] : asArray(parts, 'parts').items
  const found: FoundText[] = []
  for (const [index, item] of items.entries())
    yield* partTexts(asObject(item, 'a part'), index, at, found)
  yield* sweepObject(content, 'content', at, CONTENTS, found, { skip: PARTS })
  return found
}

/** Texts continue wherever they are in their list; most other members of a part are told apart by its index there. */
function* partTexts(part: JsonObjectNode, index: number, at: At, out: FoundText[]): Work<void> {
  const found: FoundText[] = []
  // A signature is of all that the candidate has thought.
  const about = { object: part, channel: at.channel ?? '' }
  yield* sweepObject(part, 'parts', { ...at, channel: '', about }, CONTENTS, found)
  for (const text of found) {
    if (at.json.pace.isDue()) yield
    const words = text.channel.split(' ')
    const channel = below(at, partChannel(part, text, words, index)).channel ?? ''
    out.push({ ...text, channel })
  }
}

function partChannel(
  part: JsonObjectNode,
  { kind, form }: FoundText,
  [name = '', ...rest]: readonly string[],
  index: number,
): string {
  if (name === 'text' && rest.length === 0) return isThought(part) ? 'thought' : 'text'
  const word = kind === 'tool-call' ? CALLS.get(name) : undefined
  if (word !== undefined) return [word, index, ...argument(part, name, rest)].join(' ')
  if (CONTENTS.owners.get('parts')?.members.has(name) === true || form === 'json')
    return [name, index, ...rest].join(' ')
  return ['part', name, ...rest].join(' ')
}

const CALLS: ReadonlyMap<string, string> = new Map([
  ['functionCall', 'call'],
  ['function_call', 'call'],
  ['toolCall', 'toolCall'],
  ['tool_call', 'toolCall'],
])

function isThought(part: JsonObjectNode): boolean {
  const thought = part.members.get('thought')
  return thought?.type === 'boolean' && thought.end - thought.start === 'true'.length
}

/** Returns the path of the argument that a part of a call continues; empty for the arguments as a whole. */
function argument(
  part: JsonObjectNode,
  name: string,
  [list = '', index = '']: readonly string[],
): readonly string[] {
  const call = part.members.get(name)
  const values = call?.type === 'object' ? call.members.get(list) : undefined
  const value = values?.type === 'array' ? values.items[Number(index)] : undefined
  return value?.type === 'object' ? [pathOf(value.members.get('jsonPath'))] : []
}

const pathOf = (node: JsonNode | undefined): string => (node?.type === 'string' ? node.value : '')
