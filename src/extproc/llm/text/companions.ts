// What stands beside a text and is true of it alone: its provider's signature, and the offsets of annotations and
// citations in it. A change of the text makes it untrue (decision 20i).

import { type JsonNode, type Span, span } from '../../../kit/json/json-node.js'
import type { Edit } from '../../../kit/json/json-text.js'
import type { JsonObjectNode } from '../../../kit/json/members.js'
import type { Pace, Work } from '../../../kit/turns.js'
import { firstWhere } from './first-where.js'

/** What is true of the texts of one object alone. */
export interface Companion {
  readonly kind: 'signature' | 'offset'
  /** The string of the signature, or the number of the offset. */
  readonly place: Span
  /** The object whose texts it is about. */
  readonly object: Span
  /** In events: the channel of that object, with which the channels of those texts begin. */
  readonly channel: string
  /** In events: whether the texts come in later ones. */
  readonly isAhead?: boolean
}

/** An object that companions within it are about, and its channel. */
export interface About {
  readonly object: JsonObjectNode
  readonly channel: string
}

/** The part of a reader's context that says what companions are about. */
interface AtCompanion {
  readonly json: { readonly companions: Companion[] }
  readonly channel?: string
  readonly about?: About
}

/** Members whose objects have companions of what is beside them. */
export const BESIDE_TEXTS: ReadonlySet<string> = new Set([
  'annotations',
  'annotation',
  'citations',
  'citation',
  'extra_content',
  'providerMetadata',
  'callProviderMetadata',
  'resultProviderMetadata',
  'groundingMetadata',
  'grounding_metadata',
  'citationMetadata',
  'citation_metadata',
])

/** Offsets in a text, in whatever unit. */
const OFFSETS: ReadonlySet<string> = new Set([
  'start',
  'end',
  'start_index',
  'end_index',
  'startIndex',
  'endIndex',
])

/** Notes a signature. object: has it as a member. */
export function noteSignature(node: JsonNode, object: JsonObjectNode, at: AtCompanion): void {
  at.json.companions.push(companionOf('signature', node, at.about ?? { object, channel: '' }, at))
}

/** Notes a number if it is an offset in the texts that the object, or one around it, is beside. */
export function noteNumber(name: string, node: JsonNode, at: AtCompanion): void {
  if (at.about !== undefined && OFFSETS.has(name))
    at.json.companions.push(companionOf('offset', node, at.about, at))
}

const companionOf = (
  kind: Companion['kind'],
  node: JsonNode,
  { object, channel }: About,
  at: AtCompanion,
): Companion => ({
  kind,
  place: span(node),
  object: span(object),
  channel: at.about === undefined ? (at.channel ?? '') : channel,
})

/** Returns what takes the place of a companion that is untrue: no signature, or an offset that marks no words. */
export const untold = ({ kind, place }: Companion): Edit => ({
  ...place,
  json: kind === 'signature' ? '""' : '0',
})

/** Returns the companions of texts that change. changed: the places of those texts, in order. */
export function* untrueOf(
  companions: readonly Companion[],
  changed: readonly Span[],
  pace: Pace,
): Work<readonly Companion[]> {
  const untrue: Companion[] = []
  for (const companion of companions) {
    if (pace.isDue()) yield
    const { start, end } = companion.object
    const first = changed[firstWhere(changed, (place) => place.start >= start)]
    if (first !== undefined && first.start < end) untrue.push(companion)
  }
  return untrue
}
