// Bounds who reads a page at once: a page of thousands of resources is megabytes, which wait for as long as nobody reads
// them.

import type { Server, ServerResponse } from 'node:http'
import { type PageAnswer, textAnswer } from './answer.js'

/** Maximum number of private pages that are made or sent at once, except for live updates. */
export const MAX_READERS = 16

/** How long a connection may stay without a byte in either direction. */
export const READER_PATIENCE_MS = 30_000

/** Answer to one more reader. */
export const TOO_MANY_READERS: PageAnswer = {
  ...textAnswer(503, `${MAX_READERS} pages are already being read`),
  headers: { 'retry-after': '1' },
}

/** Counts the readers of a server's pages. */
export class Readers {
  #count = 0

  /** Admits the reader of an answer until its connection has all of it or ends. False: there are too many. */
  admit(response: ServerResponse): boolean {
    if (this.#count >= MAX_READERS) return false
    this.#count += 1
    response.once('close', () => {
      this.#count -= 1
    })
    return true
  }
}

/** Ends connections whose other side neither reads nor writes. */
export function endIdleConnections(server: Server, patienceMs = READER_PATIENCE_MS): void {
  server.setTimeout(patienceMs, (socket) => {
    socket.destroy()
  })
}
