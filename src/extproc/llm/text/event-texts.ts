// What the readers of events return: texts, and the channels that end with the event.

import type { JsonNode } from '../../../kit/json/json-node.js'
import { type JsonObjectNode, present } from '../../../kit/json/members.js'
import { UnreadableForm } from '../../../kit/json/unreadable-form.js'
import type { Work } from '../../../kit/turns.js'
import { channelPlace, indexWord } from './channels.js'
import { type At, below, foundJson, type FoundText, type Source } from './found-text.js'
import { isWhole } from './stream-event.js'

/** The texts of an event, and the channels that end with it. */
export interface TextsAndEnds {
  readonly texts: readonly FoundText[]
  readonly ends: readonly string[]
}

/** An event without texts. */
export const NOTHING: TextsAndEnds = { texts: [], ends: [] }

/** Joins the results of several readers. */
export const together = (all: readonly TextsAndEnds[]): TextsAndEnds => ({
  texts: all.flatMap(({ texts }) => texts),
  ends: all.flatMap(({ ends }) => ends),
})

/**
 * goesOn: which channels are known to continue in later events; other texts are by themselves. JSON, files and
 * definitions always end, log probabilities never do.
 */
export function eventTexts(
  texts: readonly FoundText[],
  goesOn: (channel: string) => boolean,
): TextsAndEnds {
  const isAlone = (text: FoundText): boolean => text.form === 'string' && !goesOn(text.channel)
  const ended = texts.filter((text) => isWhole(text) || (isAlone(text) && text.kind !== 'text'))
  return {
    texts: texts.map((text) =>
      isAlone(text) && text.kind === 'text' ? { ...text, isRepeat: true } : text,
    ),
    ends: [...new Set(ended.map(({ channel }) => channel))],
  }
}

/** Returns texts whose channels continue. */
export const goingOn = (texts: readonly FoundText[]): TextsAndEnds => eventTexts(texts, () => true)

/** Returns texts whose channels end. */
export const whole = (texts: readonly FoundText[]): TextsAndEnds => eventTexts(texts, () => false)

/** Maximum number of places of a member that are asked about separately; more are shown as its JSON. */
const MOST_APART = 8

/**
 * Reads what surrounds the model's words, perhaps in every event; where it is repeated unchanged, it has been shown.
 * object: contains the texts. at: its place.
 */
export function* beside(
  texts: readonly FoundText[],
  object: JsonObjectNode,
  at: At,
): Work<TextsAndEnds> {
  const members = new Map<string, FoundText[]>()
  for (const text of texts) {
    if (at.json.pace.isDue()) yield
    const name = memberOf(text.channel, at)
    const found = members.get(name)
    if (found === undefined) members.set(name, [text])
    else found.push(text)
  }
  const gathered: FoundText[] = []
  for (const [name, found] of members) {
    const node = object.members.get(name)
    const [{ kind, role } = {}] = found
    const isAlike = found.every((text) => text.kind === kind && text.form !== 'tokens')
    const isMany = found.length > MOST_APART && isAlike && countOf(found) > MOST_APART
    if (isMany && node !== undefined)
      gathered.push({
        ...(yield* foundJson(node, below(at, name))),
        ...(kind === 'text' && { isGathered: true }),
        ...(kind !== undefined && role !== undefined && { kind, role }),
        isRepeat: true,
      })
    else
      for (const text of found) {
        if (at.json.pace.isDue()) yield
        gathered.push(text.form === 'tokens' ? text : { ...text, isRepeat: true })
      }
  }
  return { texts: gathered, ends: [] }
}

/** Number of questions that texts need: one for those of one place in a list, one for each definition or file. */
const countOf = (found: readonly FoundText[]): number =>
  found[0]?.kind === 'text'
    ? new Set(found.map(({ channel }) => channelPlace(channel))).size
    : found.length

/** Returns the first word of the channel after the object's own channel. */
function memberOf(channel: string, { channel: around = '' }: At): string {
  const [name = ''] = channel.slice(around.length).trimStart().split(' ', 1)
  return name
}

/** Marks texts that repeat, as a whole, what their channels said. */
export const repeated = (texts: readonly FoundText[]): readonly FoundText[] =>
  texts.map((text) => ({ ...text, isRepeat: true }))

/** Returns the context in which a reader reads what is said in a channel. */
export const spokenAt = (json: Source, channel: string, role = 'assistant'): At => ({
  json,
  role,
  toolRole: role,
  channel,
})

/** Whether a finish reason is present; some servers send an empty one before the end. */
export const isGiven = (node: JsonNode | undefined): boolean =>
  present(node) !== undefined && !(node?.type === 'string' && node.value === '')

/**
 * Returns the word for a choice, item or block: its number, or what else its index is. Absent: the given number. Some
 * servers count from -1, or number in strings.
 */
export function indexOf(json: Source, node: JsonNode | undefined, otherwise = 0): string {
  const given = present(node)
  if (given === undefined) return String(otherwise)
  if (given.type !== 'number' && given.type !== 'string')
    throw new UnreadableForm('an index is neither a number nor a string')
  const index = given.type === 'string' ? given.value : json.text.slice(given.start, given.end)
  if (!INDEX.test(index)) throw new UnreadableForm('an index could be a text')
  return indexWord(index)
}

const INDEX = /^[\w.:+-]{0,64}$/

/**
 * Reads what is said under the word for a choice. Where the client asked for one, all are that: some servers count chunks
 * instead.
 */
export function* ofChoice(
  json: Source,
  index: string,
  read: (channel: string) => Work<TextsAndEnds>,
): Work<TextsAndEnds> {
  if (!json.isOneChoice || index === '0') return yield* read(index)
  const { texts, ends } = yield* read('0')
  return { texts: texts.map((text) => ({ ...text, choice: index })), ends }
}
