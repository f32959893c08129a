// What the readers of events return: texts, and the channels that end with the event.

import type { JsonNode } from '../../json/json-node.js'
import { type JsonObjectNode, present } from '../../json/members.js'
import { UnreadableForm } from '../../json/unreadable-form.js'
import type { Work } from '../../turns.js'
import { type At, below, jsonSaid, type SaidText, type Source } from './said.js'

export interface Said {
  readonly texts: readonly SaidText[]
  readonly ends: readonly string[]
}

export const NOTHING: Said = { texts: [], ends: [] }

export const together = (all: readonly Said[]): Said => ({
  texts: all.flatMap(({ texts }) => texts),
  ends: all.flatMap(({ ends }) => ends),
})

/** goesOn: which channels continue in later events; the others end. JSON always ends, log probabilities never do. */
export function saidIn(texts: readonly SaidText[], goesOn: (channel: string) => boolean): Said {
  const whole = texts.filter(
    ({ channel, form }) => form === 'json' || (form === 'string' && !goesOn(channel)),
  )
  return { texts, ends: [...new Set(whole.map(({ channel }) => channel))] }
}

export const goingOn = (texts: readonly SaidText[]): Said => saidIn(texts, () => true)

export const whole = (texts: readonly SaidText[]): Said => saidIn(texts, () => false)

/** Maximum number of texts of a member that are shown, and asked about, separately; more are shown as its JSON. */
const MOST_APART = 8

/**
 * Reads what surrounds the model's words, perhaps in every event; where it is repeated unchanged, it has been shown.
 * object: contains the texts. at: its place.
 */
export function* beside(texts: readonly SaidText[], object: JsonObjectNode, at: At): Work<Said> {
  const members = new Map<string, SaidText[]>()
  for (const text of texts) {
    if (at.json.pace.isDue()) yield
    const name = memberOf(text.channel, at)
    const said = members.get(name)
    if (said === undefined) members.set(name, [text])
    else said.push(text)
  }
  const gathered: SaidText[] = []
  for (const [name, said] of members) {
    const node = object.members.get(name)
    const isMany = said.length > MOST_APART && said.every(({ form }) => form !== 'tokens')
    if (isMany && node !== undefined)
      gathered.push({ ...(yield* jsonSaid(node, below(at, name))), isRepeat: true })
    else
      for (const text of said) {
        if (at.json.pace.isDue()) yield
        gathered.push(text.form === 'tokens' ? text : { ...text, isRepeat: true })
      }
  }
  return { texts: gathered, ends: [] }
}

/** Returns the first word of the channel after the object's own channel. */
function memberOf(channel: string, { channel: around = '' }: At): string {
  const [name = ''] = channel.slice(around.length).trimStart().split(' ', 1)
  return name
}

/** Marks texts that repeat, as a whole, what their channels said. */
export const repeated = (texts: readonly SaidText[]): readonly SaidText[] =>
  texts.map((text) => ({ ...text, isRepeat: true }))

export const spokenAt = (json: Source, channel: string, role = 'assistant'): At => ({
  json,
  role,
  toolRole: role,
  channel,
})

/** Whether a finish reason is present; some servers send an empty one before the end. */
export const isGiven = (node: JsonNode | undefined): boolean =>
  present(node) !== undefined && !(node?.type === 'string' && node.value === '')

/** Returns the number of a choice, item or block; if absent, the given one. */
export function indexOf(json: Source, node: JsonNode | undefined, otherwise = 0): string {
  const given = present(node)
  if (given === undefined) return String(otherwise)
  const index = Number(json.text.slice(given.start, given.end))
  if (given.type !== 'number' || !Number.isSafeInteger(index) || index < 0)
    throw new UnreadableForm('an index is not a whole number')
  return String(index)
}
