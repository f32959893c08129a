// Texts of a body or event as the readers find them, each with its speaker and the place where a change is written.

import { type JsonNode, type JsonProblem, span } from '../../../kit/json/json-node.js'
import type { JsonStringNode } from '../../../kit/json/members.js'
import { plainJson } from '../../../kit/json/print-json.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import { Pace, type Work } from '../../../kit/turns.js'
import type { About, Companion } from './companions.js'
import type { Piece } from './stream-event.js'
import { textFileIn } from './text-file.js'

/** A text as the readers find it. */
export interface FoundText extends Piece {
  /** It repeats, as a whole, what its channel said, or is a text of its own. */
  readonly isRepeat?: boolean
  /** See Repeat. */
  readonly isGathered?: boolean
}

/** A body or an event that is being read. */
export interface Source {
  readonly text: string
  /** Number of values that may still be read. */
  left: number
  /** Number of messages read so far. */
  messages: number
  readonly pace: Pace
  /** Filled with what is true of one text alone. */
  readonly companions: Companion[]
  /** Options for reading more than texts and tool calls. */
  readonly inspects: Inspects
  /** Whether a model reads it, and with it the tokens and vectors that it holds. */
  readonly isRequest: boolean
  /** Whether the client asked for one choice, so that all that an event calls choices is one text. */
  readonly isOneChoice: boolean
}

/** Whether a webhook asks for definitions of tools (inspectTools) and for text files (inspectFiles). */
export interface Inspects {
  readonly tools: boolean
  readonly files: boolean
}

/** Neither tools nor files are shown. */
export const INSPECTS_NEITHER: Inspects = { tools: false, files: false }

/** Maximum number of values, more than any conversation has; each may become an entry for the webhooks. */
const MOST_VALUES = 30_000

/** Returns a body or an event to read. */
export const sourceOf = (
  text: string,
  inspects = INSPECTS_NEITHER,
  { isRequest = false, isOneChoice = false } = {},
): Source => ({
  text,
  inspects,
  isRequest,
  isOneChoice,
  companions: [],
  left: MOST_VALUES,
  messages: 0,
  pace: new Pace(),
})

/** Counts values. @throws UnreadableForm when there are too many. */
export function lookAt(count: number, json: Source): void {
  json.left -= count
  if (json.left < 0) throw new UnreadableForm(TOO_MANY)
}

const TOO_MANY: JsonProblem = 'it holds too many values'

/** The context of a reader. */
export interface At {
  readonly json: Source
  readonly role: string
  /** The role of a tool's results. */
  readonly toolRole: string
  /** Channel of the text below, for events; bodies have none. */
  readonly channel?: string
  /** Number of enclosing objects whose texts are repeated as tokens. */
  readonly echoes?: number
  /** The object that companions below are about; absent: the one that has them. */
  readonly about?: About
}

/** Returns the context of a member or an item. */
export const below = (at: At, word: string | number): At =>
  at.channel === undefined || word === ''
    ? at
    : { ...at, channel: at.channel === '' ? String(word) : `${at.channel} ${word}` }

/** Returns the text of a string. */
export const foundText = (node: JsonStringNode, { channel = '', role }: At): FoundText => ({
  channel,
  kind: 'text',
  role,
  text: node.value,
  place: span(node),
  form: 'string',
})

/** Reads what a tool is called with: a string, or JSON in place. isJson: the string holds JSON, and must stay JSON. */
export function* callOf(node: JsonNode, at: At, isJson: boolean): Work<FoundText> {
  const found = node.type === 'string' ? foundText(node, at) : yield* foundJson(node, at)
  return { ...found, kind: 'tool-call', role: 'tool_call', ...(isJson && { isJson }) }
}

/** Reads a text file in base64. undefined: it has no text. */
export function* foundFile(
  node: JsonStringNode,
  { channel = '', role, json }: At,
): Work<FoundText | undefined> {
  const file = yield* textFileIn(node, json.pace)
  if (file === 'odd')
    return { ...foundText(node, { json, channel, role, toolRole: role }), kind: 'file' }
  return file && { channel, kind: 'file', role, ...file, place: span(node), form: 'base64' }
}

/** Reads JSON in place; its text is shown. */
export function* foundJson(node: JsonNode, { channel = '', role, json }: At): Work<FoundText> {
  const text = yield* plainJson(node, json.text, json.pace)
  return { channel, kind: 'text', role, text, place: span(node), form: 'json', isJson: true }
}
