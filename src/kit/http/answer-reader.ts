// Reads answers of webhooks (HTTP/1.1, RFC 9112) strictly: whatever two readers could understand in different ways is an
// error, and the connection is not used again.

import { GatehouseError } from '../errors.js'
import { type AnswerHead, AnswerHeads, isBodiless, isField } from './answer-head.js'

/** Receives the parts of one answer, in order. */
export interface AnswerParts {
  onHead(head: AnswerHead): void
  onData(bytes: Buffer): void
}

/** An answer that is not HTTP, or is ambiguous. */
export class BadAnswer extends GatehouseError {
  readonly code = 'EBADANSWER'
}

/** Maximum bytes of a head, of all interim heads, of all trailers, and of the line before a chunk. */
const MAX_HEAD_BYTES = 16 * 1024
const MAX_LINE_BYTES = 1024

type State = 'head' | 'counted' | 'to the end' | 'chunk size' | 'chunk' | 'chunk end' | 'trailers'

const END_OF_HEAD = Buffer.from('\r\n\r\n')
const END_OF_LINE = Buffer.from('\r\n')
const NOTHING = Buffer.alloc(0)

/** Reads one answer. Its parts may end the call; the reader is not used after that. */
export class AnswerReader {
  isDone = false
  /** Whether the server has answered anything, so that it has the request. */
  hasBegun = false
  /** Whether the server keeps the connection open after this answer. */
  keepsAlive = false
  /** How long it keeps it, in milliseconds, if it says so. */
  keepAliveMs: number | undefined

  #state: State = 'head'
  /** The part of a head or a line that has arrived. */
  #kept = NOTHING
  /** Bytes of the body or the chunk that are still to come. */
  #left = 0
  #interimBytes = 0
  #trailerBytes = 0
  #isStopped = false

  /** isHead: whether the request was a HEAD, whose answer has no body. heads: those of this connection. */
  constructor(
    private readonly parts: AnswerParts,
    private readonly isHead: boolean,
    private readonly heads = new AnswerHeads(),
  ) {}

  /** Returns the number of bytes that belong to the answer: fewer than given only at its end. @throws BadAnswer */
  read(bytes: Buffer): number {
    let at = 0
    this.hasBegun ||= bytes.length > 0
    while (at < bytes.length && !this.isDone && !this.#isStopped)
      at += this.#step(at === 0 ? bytes : bytes.subarray(at))
    return at
  }

  /** Passes on nothing more, neither of later bytes nor of those that are being read. */
  stop(): void {
    this.#isStopped = true
  }

  /** Called when the server has closed. Returns whether that completes the answer. */
  close(): boolean {
    if (this.#state === 'to the end') this.isDone = true
    return this.isDone
  }

  #step(bytes: Buffer): number {
    switch (this.#state) {
      case 'head':
        return this.#until(END_OF_HEAD, bytes, MAX_HEAD_BYTES, (head) => this.#readHead(head))
      case 'chunk size':
        return this.#until(END_OF_LINE, bytes, MAX_LINE_BYTES, (line) => this.#readSize(line))
      case 'chunk end':
        return this.#until(END_OF_LINE, bytes, END_OF_LINE.length, () => {
          this.#state = 'chunk size'
        })
      case 'trailers':
        return this.#until(END_OF_LINE, bytes, MAX_HEAD_BYTES, (line) => this.#readTrailer(line))
      case 'to the end':
        this.parts.onData(bytes)
        return bytes.length
      default:
        return this.#readBody(bytes)
    }
  }

  /** Collects bytes up to and including an end, which is not passed on. */
  #until(end: Buffer, bytes: Buffer, most: number, use: (text: string) => void): number {
    const before = this.#kept.length
    const all = before === 0 ? bytes : Buffer.concat([this.#kept, bytes.subarray(0, most)])
    const found = all.indexOf(end)
    if (found === -1 || found + end.length > most) {
      if (all.length >= most) throw new BadAnswer('a part of the answer is too long')
      this.#kept = Buffer.from(all)
      return bytes.length
    }
    this.#kept = NOTHING
    use(all.toString('latin1', 0, found))
    return found + end.length - before
  }

  #readHead(text: string): void {
    const head = this.heads.read(text)
    if (head === undefined) throw new BadAnswer('the head of the answer cannot be read')
    // Interim answers precede the answer (RFC 9110 section 15.2); no protocol was offered to switch to.
    if (head.status === 101) throw new BadAnswer('the answer switches protocols')
    if (head.status < 200) return this.#skip(text)
    this.keepsAlive = head.keepsAlive
    this.keepAliveMs = head.keepAliveMs
    this.#begin(head)
    this.parts.onHead(head)
  }

  #skip(interim: string): void {
    this.#interimBytes += interim.length + END_OF_HEAD.length
    if (this.#interimBytes > MAX_HEAD_BYTES) throw new BadAnswer('the interim answers are too long')
  }

  /** RFC 9112 section 6.3. */
  #begin({ status, isChunked, length }: AnswerHead): void {
    if (this.isHead || isBodiless(status)) this.isDone = true
    else if (isChunked) this.#state = 'chunk size'
    else if (length === undefined) {
      this.#state = 'to the end'
      this.keepsAlive = false
    } else {
      this.#state = 'counted'
      this.#left = length
      this.isDone = length === 0
    }
  }

  #readBody(bytes: Buffer): number {
    const part = bytes.length > this.#left ? bytes.subarray(0, this.#left) : bytes
    this.#left -= part.length
    if (this.#left === 0) {
      if (this.#state === 'chunk') this.#state = 'chunk end'
      else this.isDone = true
    }
    this.parts.onData(part)
    return part.length
  }

  #readSize(line: string): void {
    const size = /^([0-9A-Fa-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/.exec(line)?.[1]
    if (size === undefined) throw new BadAnswer('the size of a chunk cannot be read')
    this.#left = parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'chunk'
  }

  #readTrailer(line: string): void {
    this.#trailerBytes += line.length + END_OF_LINE.length
    if (this.#trailerBytes > MAX_HEAD_BYTES) throw new BadAnswer('the trailers are too long')
    if (line === '') this.isDone = true
    else if (!isField(line)) throw new BadAnswer('a trailer cannot be read')
  }
}
