// Texts of a body or an event as the readers find them: each with its speaker and the place that a change is written to.

import { type JsonNode, span } from '../../json/json-node.js'
import type { JsonStringNode } from '../../json/members.js'
import { plainJson } from '../../json/print-json.js'
import { UnreadableForm } from '../../json/unreadable-form.js'
import { Pace, type Work } from '../../turns.js'
import type { Piece } from './stream-event.js'

export interface SaidText extends Piece {
  /** It says again, whole, what its channel said. */
  readonly isRepeat?: boolean
}

/** A body or an event that is being read. */
export interface Source {
  readonly text: string
  /** Values that may still be looked at. */
  left: number
  readonly pace: Pace
}

/** More than any conversation has: each may be an entry for the webhooks. */
const MOST_VALUES = 30_000

export const sourceOf = (text: string): Source => ({ text, left: MOST_VALUES, pace: new Pace() })

/** @throws UnreadableForm for more values than may be looked at. */
export function lookAt(count: number, json: Source): void {
  json.left -= count
  if (json.left < 0) throw new UnreadableForm('it holds too many values')
}

/** Where a reader stands. */
export interface At {
  readonly json: Source
  readonly role: string
  /** The role of what a tool returned. */
  readonly toolRole: string
  /** The channel of the text below, for events; bodies have none. */
  readonly channel?: string
  /** Objects around it whose texts are repeated as tokens. */
  readonly echoes?: number
}

/** The place of a member or an item. */
export const below = (at: At, word: string | number): At =>
  at.channel === undefined || word === ''
    ? at
    : { ...at, channel: at.channel === '' ? String(word) : `${at.channel} ${word}` }

export const textSaid = (node: JsonStringNode, { channel = '', role }: At): SaidText => ({
  channel,
  kind: 'text',
  role,
  text: node.value,
  place: span(node),
  form: 'string',
})

/** What a tool is called with: a string, or JSON in place. isJson: the string says JSON, and must stay JSON. */
export function* callOf(node: JsonNode, at: At, isJson: boolean): Work<SaidText> {
  const said = node.type === 'string' ? textSaid(node, at) : yield* jsonSaid(node, at)
  return { ...said, kind: 'tool-call', role: 'tool_call', ...(isJson && { isJson }) }
}

/** JSON in place, shown as its text. */
export function* jsonSaid(node: JsonNode, { channel = '', role, json }: At): Work<SaidText> {
  const text = yield* plainJson(node, json.text, json.pace)
  return { channel, kind: 'text', role, text, place: span(node), form: 'json', isJson: true }
}
