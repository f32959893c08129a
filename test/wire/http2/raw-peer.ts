// The client's end of a connection without a socket: sends frames as the test writes them, and records the frames that
// it receives.

import {
  Connection,
  type ConnectionOptions,
  encodeSettings,
} from '../../../src/wire/http2/connection.js'
import { encodeHeaderBlock } from '../../../src/wire/http2/hpack-encoder.js'
import { FrameFlag, FrameType, PREFACE } from '../../../src/wire/http2/protocol.js'
import type { HeaderField } from '../../../src/wire/http2/static-table.js'
import type { Stream, StreamHandler } from '../../../src/wire/http2/stream.js'

export interface SentFrame {
  readonly type: number
  readonly flags: number
  readonly streamId: number
  readonly payload: Buffer
}

export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(9)
  header.writeUIntBE(payload.length, 0, 3)
  header[3] = type
  header[4] = flags
  header.writeUInt32BE(streamId, 5)
  return Buffer.concat([header, payload])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export const settings = (...pairs: (readonly [number, number])[]): Buffer =>
  frame(FrameType.SETTINGS, 0, 0, encodeSettings(pairs))

export const REQUEST: readonly HeaderField[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/a'],
]

export const headers = (
  streamId: number,
  { end = false, fields = REQUEST }: { end?: boolean; fields?: readonly HeaderField[] } = {},
): Buffer =>
  frame(
    FrameType.HEADERS,
    FrameFlag.END_HEADERS | (end ? FrameFlag.END_STREAM : 0),
    streamId,
    encodeHeaderBlock(fields),
  )

export const data = (streamId: number, content: string | Uint8Array, end = false): Buffer =>
  frame(FrameType.DATA, end ? FrameFlag.END_STREAM : 0, streamId, Buffer.from(content))

export const rst = (streamId: number): Buffer => frame(FrameType.RST_STREAM, 0, streamId, uint32(8))

export const ping = (text = '12345678'): Buffer => frame(FrameType.PING, 0, 0, Buffer.from(text))

export const goAway = (): Buffer =>
  frame(FrameType.GOAWAY, 0, 0, Buffer.concat([uint32(0), uint32(0)]))

export const windowUpdate = (streamId: number, increment: number): Buffer =>
  frame(FrameType.WINDOW_UPDATE, 0, streamId, uint32(increment))

const OK = encodeHeaderBlock([[':status', '200']])

/** The handler of a stream: does nothing, except what a test overrides. */
export const handler = (own: Partial<StreamHandler> = {}): StreamHandler => ({
  onData: () => {},
  onEnd: () => {},
  onReset: () => {},
  onDrain: () => {},
  ...own,
})

/** Answers a request with its own content. */
export function echo(stream: Stream): StreamHandler {
  const parts: Buffer[] = []
  return handler({
    onData: (bytes) => {
      stream.consume(bytes.length)
      parts.push(Buffer.from(bytes))
    },
    onEnd: () => {
      stream.respond(OK)
      stream.send(Buffer.alloc(0), Buffer.concat(parts))
      stream.end()
    },
  })
}

export class RawPeer {
  readonly connection: Connection
  readonly faults: unknown[] = []
  /** How often the connection has written to its socket. */
  writes = 0
  /** What it has written, as it was passed on. */
  readonly pieces: Buffer[] = []
  /** Bytes that the fake socket reports as unsent. */
  pending = 0
  /** Whether the socket sends what it is given. */
  drains = true
  isPaused = false
  ending: 'open' | 'closed' | 'destroyed' = 'open'
  clock = 0
  #received = Buffer.alloc(0)

  constructor(
    open: ConnectionOptions['open'] = (_head, stream) => echo(stream),
    heads: ConnectionOptions['heads'] = { add: () => true },
  ) {
    const write = (pieces: readonly Buffer[]): void => {
      this.writes += 1
      this.pieces.push(...pieces)
      this.#received = Buffer.concat([this.#received, ...pieces])
      if (!this.drains) for (const { length } of pieces) this.pending += length
    }
    const pending = (): number => this.pending
    this.connection = new Connection({
      transport: {
        get pending() {
          return pending()
        },
        write,
        pause: () => (this.isPaused = true),
        resume: () => (this.isPaused = false),
        close: () => (this.ending = 'closed'),
        destroy: () => (this.ending = 'destroyed'),
      },
      open,
      heads,
      now: () => this.clock,
      onFault: (error) => this.faults.push(error),
    })
  }

  /** The preface and SETTINGS, and whatever comes with them. */
  greet(...more: readonly Buffer[]): this {
    this.write(PREFACE, settings(), ...more)
    return this
  }

  /** Passes the parts on in one piece. */
  write(...parts: readonly Buffer[]): void {
    this.connection.receive(Buffer.concat(parts))
  }

  /** Frames since the last time, when this tick's have been written. */
  async frames(): Promise<readonly SentFrame[]> {
    await new Promise((resolve) => setImmediate(resolve))
    const frames: SentFrame[] = []
    let at = 0
    while (at < this.#received.length) {
      const end = at + 9 + this.#received.readUIntBE(at, 3)
      frames.push({
        type: this.#received[at + 3] ?? -1,
        flags: this.#received[at + 4] ?? -1,
        streamId: this.#received.readUInt32BE(at + 5),
        payload: this.#received.subarray(at + 9, end),
      })
      at = end
    }
    this.#received = Buffer.alloc(0)
    return frames
  }

  async of(type: number): Promise<readonly SentFrame[]> {
    return (await this.frames()).filter((sent) => sent.type === type)
  }

  /** The error code of GOAWAY; undefined: there was none. */
  async goAwayCode(): Promise<number | undefined> {
    return (await this.of(FrameType.GOAWAY)).at(-1)?.payload.readUInt32BE(4)
  }
}

/** Frames that a stream has sent since the last call. */
export const contentOf = async (peer: RawPeer, streamId: number): Promise<string> =>
  Buffer.concat(
    (await peer.of(FrameType.DATA))
      .filter((sent) => sent.streamId === streamId)
      .map(({ payload }) => payload),
  ).toString()
