// A streamed reply while it is held: its frames leave in their order, each when all that it says has been seen, with
// what became of it. Pure: who asks the webhooks, and when, is not known here.

import type { LlmApi } from '../api.js'
import { withData, type Frame } from '../frame.js'
import {
  isEnded,
  rewriteEvent,
  type Piece,
  type Repeat,
  type StreamEvent,
} from '../stream-event.js'
import { createHeldChannel, type HeldChannel } from './held-channel.js'

export interface HeldReply {
  /** event: what the frame's data says; absent: nothing that is to be seen. */
  add(frame: Frame, event?: StreamEvent): void
  /** Nothing more comes. */
  end(): void
  /** Those of which something may be to be shown. */
  channels(): Iterable<HeldChannel>
  /** What may leave by now, once. */
  ready(): string
  /** Whether nothing is held. */
  isEmpty(): boolean
  /** Characters that no webhook has been asked about. */
  unseen(): number
  /** Why it cannot go on: it holds too much. A sentence without any text. */
  problem(): string | undefined
}

/** What a place of a frame waits for. */
interface Wait {
  readonly channel: HeldChannel
  /** Where a piece begins in its channel. A repeat waits for all of it. */
  readonly start: number | undefined
  readonly text: string
}

interface Item {
  readonly frame: Frame
  readonly event: StreamEvent | undefined
  readonly pieces: readonly (Wait | undefined)[]
  readonly repeats: readonly (Wait | undefined)[]
}

/** APIs whose events say again, whole, what pieces said. */
const REPEATING: ReadonlySet<LlmApi> = new Set<LlmApi>(['openai-responses'])
const MOST_CHANNELS = 1024

/** maxSize: UTF-16 units that may be held. */
export function createHeldReply(inspectsToolCalls: boolean, maxSize: number): HeldReply {
  const named = new Map<string, HeldChannel>()
  /** Repeats that are texts of their own. */
  const nameless = new Set<HeldChannel>()
  const items: Item[] = []
  let [held, kept] = [0, 0]

  const isShown = ({ kind }: Piece | Repeat): boolean => kind === 'text' || inspectsToolCalls
  const holdPiece = (piece: Piece, keeps: boolean): Wait | undefined => {
    if (!isShown(piece)) return undefined
    let channel = named.get(piece.channel)
    if (channel === undefined || channel.isEnded) {
      const isWhole = piece.kind === 'tool-call' || piece.isJson === true || piece.form === 'json'
      channel = createHeldChannel(piece, { isWhole, keeps })
      named.set(piece.channel, channel)
    }
    const { length: start } = channel.text
    channel.push(piece.text)
    if (keeps) kept += piece.text.length
    return { channel, start, text: piece.text }
  }
  const holdRepeat = (repeat: Repeat): Wait | undefined => {
    if (!isShown(repeat)) return undefined
    const known = named.get(repeat.channel)
    known?.end()
    if (known !== undefined && known.said === repeat.text)
      return { channel: known, start: undefined, text: repeat.text }
    const channel = createHeldChannel(repeat, { isWhole: true, keeps: true })
    channel.push(repeat.text)
    channel.end()
    if (known === undefined) named.set(repeat.channel, channel)
    else nameless.add(channel)
    kept += repeat.text.length
    return { channel, start: undefined, text: repeat.text }
  }
  const channels = (): readonly HeldChannel[] => [...named.values(), ...nameless]
  const forgetDone = (): void => {
    for (const channel of nameless) if (channel.isDone()) nameless.delete(channel)
    for (const [name, channel] of named)
      if (channel.isDone() && channel.said === undefined) named.delete(name)
  }

  return {
    add: (frame, event) => {
      held += frame.raw.length
      const keeps = event !== undefined && REPEATING.has(event.api)
      const pieces = (event?.pieces ?? []).map((piece) => holdPiece(piece, keeps))
      const repeats = (event?.repeats ?? []).map((repeat) => holdRepeat(repeat))
      const ends = event?.ends ?? []
      if (ends.length > 0)
        for (const [name, channel] of named) if (isEnded(name, ends)) channel.end()
      items.push({ frame, event, pieces, repeats })
    },
    end: () => {
      for (const channel of named.values()) channel.end()
    },
    channels,
    ready: () => {
      const blocked = items.findIndex((item) => !isReady(item))
      const free = items.splice(0, blocked === -1 ? items.length : blocked)
      for (const { frame } of free) held -= frame.raw.length
      const raw = free.map(rewritten).join('')
      forgetDone()
      return raw
    },
    isEmpty: () => items.length === 0,
    unseen: () => channels().reduce((sum, { text }) => sum + text.unseen, 0),
    problem: () =>
      held + kept > maxSize
        ? 'it says more at once than the guardrail may hold'
        : named.size > MOST_CHANNELS
          ? 'it has too many texts at once'
          : undefined,
  }
}

const isReady = ({ pieces, repeats }: Item): boolean =>
  [...pieces, ...repeats].every(
    (wait) =>
      wait === undefined ||
      (wait.start === undefined
        ? wait.channel.isDone()
        : wait.channel.isFree(wait.start + wait.text.length)),
  )

function rewritten({ frame, event, pieces, repeats }: Item): string {
  if (event === undefined) return frame.raw
  const now = (wait: Wait | undefined): string | undefined =>
    wait &&
    (wait.start === undefined ? wait.channel.became() : wait.channel.leave(wait.start, wait.text))
  const data = rewriteEvent(event, { pieces: pieces.map(now), repeats: repeats.map(now) })
  return data === event.json.text ? frame.raw : withData(frame, data)
}
