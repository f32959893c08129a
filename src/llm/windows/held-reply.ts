// A streamed reply while it is held: its frames leave in their order, each when all that it says has been seen, with
// what became of it. Pure: who asks the webhooks, and when, is not known here.

import { withData, type Frame } from '../framing/frame.js'
import {
  isEnded,
  rewriteEvent,
  type Piece,
  type Repeat,
  type StreamEvent,
} from '../text/stream-event.js'
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
  readonly said: Piece | Repeat
  readonly channel: HeldChannel
  /** Where the text begins in the channel. */
  readonly start: number
  readonly text: string
}

interface Item {
  readonly frame: Frame
  readonly event: StreamEvent | undefined
  readonly pieces: readonly (Wait | undefined)[]
  readonly repeats: readonly (Wait | undefined)[]
}

/** That are open at once. */
const MOST_CHANNELS = 1024

/** maxSize: UTF-16 units that may be held. */
export function createHeldReply(inspectsToolCalls: boolean, maxSize: number): HeldReply {
  const named = new Map<string, HeldChannel>()
  /** Repeats that are texts of their own, and texts whose name has gone to another. */
  const nameless = new Set<HeldChannel>()
  const items: Item[] = []
  let [held, kept] = [0, 0]

  const isShown = ({ kind }: Piece | Repeat): boolean => kind === 'text' || inspectsToolCalls
  const open = (said: Piece | Repeat, isWhole: boolean): HeldChannel =>
    createHeldChannel(said, {
      isWhole,
      mayKeep: (length) => {
        kept += length
        return kept <= maxSize
      },
    })
  const holdPiece = (piece: Piece): Wait | undefined => {
    if (!isShown(piece)) return undefined
    let channel = named.get(piece.channel)
    if (channel === undefined || channel.isEnded) {
      // What has ended may still be to be shown.
      if (channel?.isDone() === false) nameless.add(channel)
      const isWhole = piece.kind === 'tool-call' || piece.isJson === true || piece.form === 'json'
      channel = open(piece, isWhole)
      named.set(piece.channel, channel)
    }
    const { length: start } = channel.text
    channel.push(piece.text)
    return { said: piece, channel, start, text: piece.text }
  }
  const holdRepeat = (repeat: Repeat): Wait | undefined => {
    if (!isShown(repeat)) return undefined
    const { text } = repeat
    const known = named.get(repeat.channel)
    if (known?.said === text) return { said: repeat, channel: known, start: 0, text }
    const channel = open(repeat, true)
    channel.push(text)
    channel.end()
    if (known === undefined) named.set(repeat.channel, channel)
    else nameless.add(channel)
    return { said: repeat, channel, start: 0, text }
  }
  const channels = (): readonly HeldChannel[] =>
    [...named.values(), ...nameless].filter((channel) => !channel.isDone())
  const forgetDone = (): void => {
    for (const channel of nameless) if (channel.isDone()) nameless.delete(channel)
    if (named.size <= MOST_CHANNELS) return
    for (const [name, channel] of named) if (channel.isDone()) named.delete(name)
  }

  return {
    add: (frame, event) => {
      held += frame.raw.length
      const pieces = (event?.pieces ?? []).map(holdPiece)
      const repeats = (event?.repeats ?? []).map(holdRepeat)
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
      held > maxSize
        ? 'it says more at once than the guardrail may hold'
        : channels().length > MOST_CHANNELS
          ? 'it has too many texts at once'
          : undefined,
  }
}

const isReady = ({ pieces, repeats }: Item): boolean =>
  [...pieces, ...repeats].every((wait) => {
    if (wait === undefined) return true
    const { said, channel, start, text } = wait
    return channel.isFree(start + text.length + (said.isAhead ? 1 : 0)) || channel.isDone()
  })

function rewritten({ frame, event, pieces, repeats }: Item): string {
  if (event === undefined) return frame.raw
  const now = (wait: Wait | undefined) => wait?.channel.leave(wait.start, wait.text)
  const emptied = [...pieces, ...repeats].flatMap((wait) => {
    if (wait?.said.echoes === undefined) return []
    const { channel, start, text } = wait
    return channel.isNearChange(start, start + text.length) ? wait.said.echoes : []
  })
  const data = rewriteEvent(event, { pieces: pieces.map(now), repeats: repeats.map(now), emptied })
  return data === event.json.text ? frame.raw : withData(frame, data)
}
