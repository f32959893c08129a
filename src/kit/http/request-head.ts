// Writes the head of an HTTP/1.1 request: the request line and its fields (RFC 9112), refusing what another reader could
// take for more than one of them.

import { BadAnswer } from './answer-reader.js'

/** A request with its whole body. */
export interface SentRequest {
  readonly method: string
  /** Path with the query. */
  readonly path: string
  /** Headers with lower-case names, including host. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** Longer fields are not kept between the requests of a connection. */
const MOST_KEPT = 4 * 1024

/** Writes the heads of the requests over one connection. Most have the same fields as the one before. */
export class RequestHeads {
  #headers: SentRequest['headers'] = {}
  #names: readonly string[] = []
  #text = ''

  /** @throws {BadAnswer} */
  headOf({ method, path, headers, body }: SentRequest): string {
    const fields = this.#fieldsOf(headers)
    return `${method} ${path} HTTP/1.1\r\n${fields}connection: keep-alive\r\ncontent-length: ${String(body.length)}\r\n\r\n`
  }

  #fieldsOf(headers: SentRequest['headers']): string {
    const names = Object.keys(headers)
    if (this.#isLast(names, headers)) return this.#text
    const text = fieldsOf(names, headers)
    if (text.length > MOST_KEPT) return text
    this.#names = names
    this.#headers = headers
    this.#text = text
    return text
  }

  #isLast(names: readonly string[], headers: SentRequest['headers']): boolean {
    if (names.length !== this.#names.length) return false
    for (let at = 0; at < names.length; at++) {
      const name = names[at] ?? ''
      if (name !== this.#names[at] || headers[name] !== this.#headers[name]) return false
    }
    return true
  }
}

/** @throws {BadAnswer} */
function fieldsOf(names: readonly string[], headers: SentRequest['headers']): string {
  let text = ''
  for (const name of names) {
    const value = headers[name] ?? ''
    if (!NAME.test(name) || !VALUE.test(value)) throw new BadAnswer('a header cannot be sent')
    text += `${name}: ${value}\r\n`
  }
  return text
}
