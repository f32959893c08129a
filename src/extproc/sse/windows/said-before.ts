// What the texts of one place have said before, in the order of arrival: a text that begins there may continue it, as
// its index may be that of another text, or count events (decision 20h).

import { ownPart } from '../../../kit/own-text.js'
import type { LlmApi } from '../../llm/text/api.js'
import { isWholeCall } from '../../llm/text/calls.js'
import type { Piece } from '../../llm/text/stream-event.js'
import type { HeldChannel } from './held-channel.js'

/** A part of a text. start: its offset in the text. */
interface Said {
  readonly place: string
  /** The same within its choice, or what else the first index is of; absent: there is but one text at it. */
  readonly within?: string | undefined
  readonly channel: HeldChannel
  readonly start: number
  readonly text: string
}

/** What the texts of one place have said, whatever the indexes in their channels are. */
interface Place {
  /** The end of it, in the order of arrival. */
  readonly said: string
  /** The text that was begun or continued last. */
  readonly last: HeldChannel
  /** The text that said the end of it. */
  readonly speaker?: HeldChannel | undefined
  /** Number of characters that it has said since another one spoke. */
  readonly inARow: number
  /** Whether a text has begun here before another one had come to its end. */
  readonly isMixed: boolean
}

/** Maximum number of choices whose texts are followed within them. */
const MOST_CHOICES = 128

/** What has been said at each place. */
export class SaidBefore {
  readonly #places = new Map<string, Place>()
  /** By choice. */
  readonly #within = new Map<string, Place>()

  /** holdBack: maximum length of a match, in characters. */
  constructor(private readonly holdBack: number) {}

  /** Number of places. */
  get size(): number {
    return this.#places.size
  }

  /** Returns the text that was begun or continued last. */
  last(place: string): HeldChannel | undefined {
    return this.#places.get(place)?.last
  }

  /** Returns the end of what has been said at a place. */
  said(place: string): string {
    return this.#places.get(place)?.said ?? ''
  }

  /**
   * Notes what a piece says. Returns what it may continue, where that is another text: what came before it in all, and
   * within its choice.
   */
  say(said: Said, piece: Piece, api: LlmApi): readonly string[] {
    const { place, within, start } = said
    const isKnown = within !== undefined && this.#within.has(within)
    const before = this.#note(this.#places, place, said, piece, api)
    const inChoice =
      within === undefined ? undefined : this.#note(this.#within, within, said, piece, api)
    if (this.#within.size > MOST_CHOICES) {
      const [oldest = ''] = this.#within.keys()
      this.#within.delete(oldest)
    }
    // Choices that were asked for go on by their index alone.
    const isOfChoice = OF_CHOICES.has(api) && (start > 0 || isKnown)
    return [isOfChoice ? undefined : before, inChoice].filter((text) => text !== undefined)
  }

  #note(
    places: Map<string, Place>,
    at: string,
    said: Said,
    piece: Piece,
    api: LlmApi,
  ): string | undefined {
    const { channel, text } = said
    const before = places.get(at)
    const isMixed = text !== '' && this.#isMixed(before, piece, api, said)
    const speaker = text === '' ? before?.speaker : channel
    const inARow = before?.speaker === speaker ? (before?.inARow ?? 0) : 0
    // Those of which nothing has come for longest are first.
    places.delete(at)
    places.set(at, {
      said: endOf(before?.said, text, this.holdBack),
      last: channel,
      speaker,
      inARow: inARow + text.length,
      isMixed: isMixed || before?.isMixed === true,
    })
    return isMixed ? before?.said : undefined
  }

  /** Whether what a piece says may continue what another text of its place has said. */
  #isMixed(
    before: Place | undefined,
    piece: Piece,
    api: LlmApi,
    { channel, start }: Said,
  ): boolean {
    if (start === 0) return isJoinedTo(before, piece, api, channel)
    if (before?.isMixed !== true || !mayBeMixed(piece)) return false
    // What it says in a row is shown with its own text before it.
    return before.speaker !== channel || before.inARow < this.holdBack
  }
}

/** Returns as much of the end as the longest match. */
export function endOf(before = '', text: string, holdBack: number): string {
  const all = before + text
  return ownPart(all.slice(-holdBack), all)
}

/** APIs whose channels begin with the index of a choice. */
const OF_CHOICES: ReadonlySet<LlmApi> = new Set(['openai-chat', 'openai-completions', 'gemini'])

const mayBeMixed = ({ kind, form }: Piece): boolean =>
  kind === 'tool-call' || (kind === 'text' && (form === 'string' || form === 'tokens'))

/**
 * Whether the beginning of a text is shown with what another of its place has said: its index may be that of another
 * text, or count events. Not if the other has ended; but choices do not end for certain, as some servers give each chunk
 * a finish reason. The arguments of a call are by themselves if those before them are complete JSON.
 */
function isJoinedTo(
  before: Place | undefined,
  { kind, form, continues }: Piece,
  api: LlmApi,
  channel: HeldChannel,
): boolean {
  const speaker = before?.speaker
  if (speaker === undefined || speaker === channel) return false
  if (kind === 'tool-call') return form === 'string' && !isWholeCall(speaker.received)
  if (kind !== 'text' || (form !== 'string' && form !== 'tokens')) return false
  return !speaker.isEnded || continues === true || OF_CHOICES.has(api)
}
