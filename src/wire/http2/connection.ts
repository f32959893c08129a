// One connection of an HTTP/2 server (RFC 9113): dispatches incoming frames to streams. Written by hand: node:http2 took
// most of the time of a check, closes connections on which many streams are reset, and keeps ended calls in memory.

import { type Frame, FrameReader } from './frame-reader.js'
import { expectLength, expectStream, withoutPadding } from './frame-rules.js'
import { type HeaderBlock, HeaderBlocks, MAX_HEADER_LIST_BYTES } from './header-blocks.js'
import { type ByteAccount, HeldHeads } from './held-heads.js'
import { Outbound } from './outbound.js'
import {
  ConnectionError,
  DEFAULT_MAX_FRAME_SIZE,
  DEFAULT_WINDOW,
  ErrorCode,
  FrameFlag,
  FrameType,
  MAX_STREAM_ID,
  MAX_WINDOW,
  Setting,
} from './protocol.js'
import type { RequestHead } from './request-head.js'
import type { Stream, StreamHandler } from './stream.js'
import { Streams } from './streams.js'
import type { Transport } from './transport.js'

// Detects peers that are gone, send no preface or do not read, by their traffic and by PING (RFC 9113, section 6.7).

/** Silence after which the peer is sent a PING. */
const IDLE_MS = 30_000
const ANSWER_MS = 10_000
const PREFACE_MS = 10_000
/** Longest time that bytes stay in the socket while the peer takes none of them. */
const READ_MS = 30_000

/** State of a connection as the keepalive sees it. */
export interface Line {
  readonly hasPreface: boolean
  /** Bytes buffered in the socket while sending is blocked, otherwise 0. */
  readonly pending: number
}

/** Timers of one connection: decides when to send a PING (RFC 9113, section 6.7) and when the peer counts as gone. */
class Keepalive {
  static readonly PAYLOAD = Buffer.from('there???', 'latin1')

  readonly #since: number
  #heardAt: number
  #askedAt: number | undefined
  #pending = 0
  #pendingSince: number

  constructor(now: number) {
    this.#since = now
    this.#heardAt = now
    this.#pendingSince = now
  }

  /** Called when any bytes have arrived. */
  heard(now: number): void {
    this.#heardAt = now
    this.#askedAt = undefined
  }

  look(now: number, { hasPreface, pending }: Line): 'ping' | 'dead' | 'well' {
    if (!hasPreface) return now - this.#since > PREFACE_MS ? 'dead' : 'well'
    if (pending === 0 || pending < this.#pending) this.#pendingSince = now
    this.#pending = pending
    // While the peer does not read, this side does not read either, so silence proves nothing.
    if (pending > 0) {
      this.#askedAt = undefined
      this.#heardAt = now
      return now - this.#pendingSince > READ_MS ? 'dead' : 'well'
    }
    if (this.#askedAt !== undefined) return now - this.#askedAt > ANSWER_MS ? 'dead' : 'well'
    if (now - this.#heardAt < IDLE_MS) return 'well'
    this.#askedAt = now
    return 'ping'
  }
}

// Encodes and reads the payload of SETTINGS frames (RFC 9113, section 6.5).

const SETTING_BYTES = 6

/** Returns the payload of a SETTINGS frame (section 6.5.1). */
export function encodeSettings(
  settings: readonly (readonly [id: number, value: number])[],
): Buffer {
  const payload = Buffer.alloc(settings.length * SETTING_BYTES)
  settings.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, index * SETTING_BYTES)
    payload.writeUInt32BE(value, index * SETTING_BYTES + 2)
  })
  return payload
}

/** Reads a SETTINGS payload; callers ignore unknown settings (section 6.5.2). @throws {ConnectionError} */
function readSettings(payload: Buffer): readonly (readonly [id: number, value: number])[] {
  if (payload.length % SETTING_BYTES !== 0)
    throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'SETTINGS of a broken length')
  return Array.from({ length: payload.length / SETTING_BYTES }, (_, index) => {
    const id = payload.readUInt16BE(index * SETTING_BYTES)
    const value = payload.readUInt32BE(index * SETTING_BYTES + 2)
    expectAllowed(id, value)
    return [id, value] as const
  })
}

const MAX_MAX_FRAME_SIZE = 2 ** 24 - 1

function expectAllowed(id: number, value: number): void {
  if (id === Setting.ENABLE_PUSH && value > 1)
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'ENABLE_PUSH is neither 0 nor 1')
  if (id === Setting.INITIAL_WINDOW_SIZE && value > MAX_WINDOW)
    throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, 'INITIAL_WINDOW_SIZE above 2^31-1')
  if (
    id === Setting.MAX_FRAME_SIZE &&
    (value < DEFAULT_MAX_FRAME_SIZE || value > MAX_MAX_FRAME_SIZE)
  )
    throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'MAX_FRAME_SIZE out of its range')
}

// Limits frames that cost the server more than the peer: PING, SETTINGS, PRIORITY, acknowledgements, frames of unknown
// types and empty frames (RFC 9113, section 10.5).

const MAX_FRAMES = 100
const PERIOD_MS = 10_000

/** Budget of one connection for frames that cost only the receiver. */
class FrameBudget {
  /** When each of the last MAX_FRAMES frames came; a ring. Most connections never need it. */
  #times: Float64Array | undefined
  #next = 0
  #count = 0
  #answered = 0

  /**
   * Counts one frame. A new answer resets the count, because clients measure bandwidth by a PING with each answer.
   * answered: the number of answers sent so far.
   * @throws {ConnectionError} more than 100 frames in any 10 s.
   */
  take(now: number, answered: number): void {
    const times = (this.#times ??= new Float64Array(MAX_FRAMES))
    if (answered !== this.#answered) this.#count = 0
    this.#answered = answered
    const at = this.#next
    if (this.#count === MAX_FRAMES && now - (times[at] as number) <= PERIOD_MS)
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, 'too many frames that ask for nothing')
    times[at] = now
    this.#next = (at + 1) % MAX_FRAMES
    this.#count = Math.min(this.#count + 1, MAX_FRAMES)
  }
}

/** Dependencies of a connection: its transport, a budget, a clock, and the factory of stream handlers. */
export interface ConnectionOptions {
  readonly transport: Transport
  /** What headers hold counts here, except for a part that each connection has for itself. */
  readonly heads: ByteAccount
  /** Returns the handler of a new stream; it may respond before it returns. */
  open(head: RequestHead, stream: Stream): StreamHandler
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Called with an internal error, after which the connection ends. */
  onFault(error: unknown): void
}

/** Maximum open streams. Envoy opens up to 1,024 before it has received the SETTINGS. */
export const MAX_CONCURRENT_STREAMS = 4_096

/** Receive window of the connection. It is replenished on receipt, because each stream has its own window. */
const CONNECTION_WINDOW = 16 * 1024 * 1024

const SETTINGS = encodeSettings([
  [Setting.MAX_CONCURRENT_STREAMS, MAX_CONCURRENT_STREAMS],
  [Setting.MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST_BYTES],
])

/** Payload of the PING whose acknowledgement proves that the peer has seen the first GOAWAY. */
const DRAIN_PING = Buffer.from('drained?', 'latin1')

/** Longest wait for the acknowledgement of DRAIN_PING. */
const DRAIN_MS = 1_000

/**
 * The server's end of one HTTP/2 connection (RFC 9113): passes frames to streams, and ends with GOAWAY (section 6.8).
 */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #outbound: Outbound
  readonly #reader = new FrameReader((frame) => this.#onFrame(frame))
  readonly #headers: HeaderBlocks
  readonly #budget = new FrameBudget()
  /** Separate, and not reset by answers: SETTINGS may visit every stream, and no client sends them with each answer. */
  readonly #settingsBudget = new FrameBudget()
  readonly #streams: Streams
  readonly #keepalive: Keepalive
  readonly #stopped = (): boolean => this.#isOver
  #receiveWindow = DEFAULT_WINDOW
  #hasSettings = false
  /** 'noticed': GOAWAY is sent, but new streams are still served; 'drained': they are not. */
  #drain: 'no' | 'noticed' | 'drained' = 'no'
  #drainSince = Infinity
  /** Whether the peer has sent GOAWAY. */
  #isLeaving = false
  #isOver = false

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#outbound = new Outbound(options.transport)
    const heads = new HeldHeads(options.heads)
    this.#headers = new HeaderBlocks(heads)
    this.#streams = new Streams(
      this.#outbound,
      {
        maxStreams: MAX_CONCURRENT_STREAMS,
        heads,
        now: () => options.now(),
        open: (head, stream) => options.open(head, stream),
      },
      () => this.#closeIfDrained(),
    )
    this.#keepalive = new Keepalive(options.now())
    this.#outbound.frame(FrameType.SETTINGS, 0, 0, SETTINGS)
    this.#giveBack(CONNECTION_WINDOW - DEFAULT_WINDOW)
  }

  get openStreams(): number {
    return this.#streams.size
  }

  /** Handles bytes from the peer. Does not throw. */
  receive(chunk: Buffer): void {
    if (this.#isOver) return
    this.#keepalive.heard(this.#options.now())
    this.#outbound.hold()
    try {
      this.#reader.read(chunk, this.#stopped)
    } catch (error) {
      if (!(error instanceof ConnectionError)) this.#options.onFault(error)
      this.#fail(error instanceof ConnectionError ? error.errorCode : ErrorCode.INTERNAL_ERROR)
    } finally {
      this.#outbound.release()
    }
  }

  /** Called when the socket has drained. */
  onDrain(): void {
    if (!this.#isOver) this.#outbound.onDrain()
  }

  /** Called when the socket has closed. */
  onClose(): void {
    this.#isOver = true
    this.#streams.cancelAll()
    this.#headers.clear()
  }

  /** Checks all timeouts; must be called about once a second. */
  tick(): void {
    if (this.#isOver) return
    const now = this.#options.now()
    const verdict = this.#keepalive.look(now, {
      hasPreface: this.#reader.hasPreface,
      pending: this.#outbound.isBlocked ? this.#options.transport.pending : 0,
    })
    if (verdict === 'dead') return this.#options.transport.destroy()
    if (verdict === 'ping') this.#outbound.frame(FrameType.PING, 0, 0, Keepalive.PAYLOAD)
    if (this.#headers.isLate(now)) return this.#fail(ErrorCode.ENHANCE_YOUR_CALM)
    this.#streams.tick(now)
    if (now - this.#drainSince > DRAIN_MS) this.#drained()
  }

  /**
   * Shuts down gracefully (section 6.8): announces that no stream should follow, serves those already in flight, then
   * accepts no more. The connection ends with its last stream.
   */
  drain(): void {
    if (this.#isOver || this.#drain !== 'no') return
    this.#drain = 'noticed'
    this.#drainSince = this.#options.now()
    this.#outbound.goAway(MAX_STREAM_ID, ErrorCode.NO_ERROR)
    this.#outbound.frame(FrameType.PING, 0, 0, DRAIN_PING)
  }

  #drained(): void {
    if (this.#drain !== 'noticed') return
    this.#drain = 'drained'
    this.#streams.drain()
    this.#outbound.goAway(this.#streams.lastId, ErrorCode.NO_ERROR)
    this.#closeIfDrained()
  }

  #closeIfDrained(): void {
    if (this.#streams.size === 0 && (this.#isLeaving || this.#drain === 'drained')) this.#end()
  }

  #fail(code: number): void {
    if (this.#isOver) return
    this.#outbound.goAway(this.#streams.lastId, code)
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#outbound.flush()
    this.#streams.cancelAll()
    this.#options.transport.close()
  }

  #onFrame(frame: Frame): void {
    // Section 3.4: the client's preface ends with a SETTINGS frame.
    if (
      !this.#hasSettings &&
      (frame.type !== FrameType.SETTINGS || (frame.flags & FrameFlag.ACK) !== 0)
    )
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'no SETTINGS after the preface')
    // Section 4.3: the frames of a header block must be contiguous.
    if (this.#headers.isOpen && frame.type !== FrameType.CONTINUATION)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'a header block without its end')
    if (frame.type > FrameType.CONTINUATION) return this.#spend() // Ignored otherwise (section 5.5).
    expectStream(frame)
    this.#dispatch(frame)
  }

  #dispatch(frame: Frame): void {
    switch (frame.type) {
      case FrameType.DATA:
        return this.#onData(frame)
      case FrameType.HEADERS:
        return this.#onBlock(this.#headers.begin(frame))
      case FrameType.CONTINUATION:
        if (frame.from === frame.to) this.#spend()
        return this.#onBlock(this.#headers.continue(frame))
      case FrameType.PRIORITY:
        this.#spend()
        return this.#streams.prioritize(frame)
      case FrameType.RST_STREAM:
        return this.#streams.cancel(expectLength(frame, 4).streamId)
      case FrameType.SETTINGS:
        return this.#onSettings(frame)
      case FrameType.PING:
        return this.#onPing(frame)
      case FrameType.GOAWAY:
        // The peer opens no more streams (section 6.8). The server has opened none (section 5.1.1).
        if (frame.to - frame.from < 8)
          throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'GOAWAY of a broken length')
        if (this.#isLeaving) this.#spend()
        this.#isLeaving = true
        return this.#closeIfDrained()
      case FrameType.WINDOW_UPDATE:
        return this.#onWindowUpdate(frame)
      default:
        // Section 8.4: a client must not push.
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'PUSH_PROMISE of a client')
    }
  }

  #spend(): void {
    this.#budget.take(this.#options.now(), this.#outbound.answered)
  }

  /** Handles DATA (section 6.1). */
  #onData(frame: Frame): void {
    const { buffer, from, to, flags, streamId } = frame
    const length = to - from
    // Replenished long before it is exhausted, because one stream must not hold up the others.
    this.#receiveWindow -= length
    if (this.#receiveWindow < CONNECTION_WINDOW / 2)
      this.#giveBack(CONNECTION_WINDOW - this.#receiveWindow)
    const endStream = (flags & FrameFlag.END_STREAM) !== 0
    const content = (flags & FrameFlag.PADDED) === 0 ? frame : withoutPadding(frame)
    // Empty content, padded or not.
    if (content.from === content.to && !endStream) this.#spend()
    this.#streams.receive(streamId, buffer.subarray(content.from, content.to), length, endStream)
  }

  #giveBack(length: number): void {
    this.#receiveWindow += length
    this.#outbound.number(FrameType.WINDOW_UPDATE, 0, length)
  }

  #onBlock(block: HeaderBlock | undefined): void {
    if (block !== undefined) this.#streams.open(block)
  }

  /** Handles SETTINGS (section 6.5). */
  #onSettings({ flags, buffer, from, to }: Frame): void {
    this.#hasSettings = true
    if ((flags & FrameFlag.ACK) !== 0) {
      if (from === to) return this.#spend()
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'an acknowledgement with a payload')
    }
    this.#settingsBudget.take(this.#options.now(), 0)
    const settings = readSettings(buffer.subarray(from, to))
    // The ACK must precede any data that a larger window releases.
    this.#outbound.frame(FrameType.SETTINGS, FrameFlag.ACK, 0, NO_PAYLOAD)
    let window: number | undefined
    for (const [id, value] of settings)
      if (id === Setting.INITIAL_WINDOW_SIZE) window = value
      else this.#outbound.applySetting(id, value)
    // Once per frame: it visits every stream, and a frame holds 2,730 settings. The last value counts (section 6.5.3).
    if (window !== undefined) this.#streams.setInitialWindow(window)
  }

  /** Handles PING (section 6.7). */
  #onPing(frame: Frame): void {
    expectLength(frame, 8)
    // Acknowledgements too: what the server sends to be acknowledged is one PING in 30 s.
    this.#spend()
    const payload = frame.buffer.subarray(frame.from, frame.to)
    if ((frame.flags & FrameFlag.ACK) === 0)
      this.#outbound.frame(FrameType.PING, FrameFlag.ACK, 0, payload)
    else if (payload.equals(DRAIN_PING)) this.#drained()
  }

  /** Handles WINDOW_UPDATE (section 6.9). */
  #onWindowUpdate(frame: Frame): void {
    expectLength(frame, 4)
    const increment = frame.buffer.readUInt32BE(frame.from) & MAX_WINDOW
    if (frame.streamId !== 0) return this.#streams.growWindow(frame.streamId, increment)
    if (increment === 0)
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, 'WINDOW_UPDATE by nothing')
    this.#outbound.growWindow(increment)
  }
}

const NO_PAYLOAD = new Uint8Array(0)
