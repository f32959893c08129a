// What the readers of events build: texts, whether they go on in later events, and what ends with this one.

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

/** goesOn: which channels go on in later events; the others are whole. JSON always is, log probabilities never are. */
export function saidIn(texts: readonly SaidText[], goesOn: (channel: string) => boolean): Said {
  const whole = texts.filter(
    ({ channel, form }) => form === 'json' || (form === 'string' && !goesOn(channel)),
  )
  return { texts, ends: [...new Set(whole.map(({ channel }) => channel))] }
}

export const goingOn = (texts: readonly SaidText[]): Said => saidIn(texts, () => true)

export const whole = (texts: readonly SaidText[]): Said => saidIn(texts, () => false)

/** More texts of one member are shown as its JSON: each text is asked about by itself. */
const MOST_APART = 8

/**
 * What stands beside the speech, in every event perhaps: where it is the same again, it has been shown.
 * object: that of the texts. at: its place.
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

/** The first word of the channel behind that of the object. */
function memberOf(channel: string, { channel: around = '' }: At): string {
  const [name = ''] = channel.slice(around.length).trimStart().split(' ', 1)
  return name
}

/** Texts that say again, whole, what their channels said. */
export const repeated = (texts: readonly SaidText[]): readonly SaidText[] =>
  texts.map((text) => ({ ...text, isRepeat: true }))

export const spokenAt = (json: Source, channel: string, role = 'assistant'): At => ({
  json,
  role,
  toolRole: role,
  channel,
})

/** Whether a reason for an end is there: some servers send an empty one before the end. */
export const isGiven = (node: JsonNode | undefined): boolean =>
  present(node) !== undefined && !(node?.type === 'string' && node.value === '')

/** The number of a choice, item or block; absent: what is given instead. */
export function indexOf(json: Source, node: JsonNode | undefined, otherwise = 0): string {
  const given = present(node)
  if (given === undefined) return String(otherwise)
  const index = Number(json.text.slice(given.start, given.end))
  if (given.type !== 'number' || !Number.isSafeInteger(index) || index < 0)
    throw new UnreadableForm('an index is not a whole number')
  return String(index)
}
