// Answers of the admin server.

import type { ServerResponse } from 'node:http'

/** An answer to a request for a page. */
export interface PageAnswer {
  readonly status: number
  readonly type: string
  /** An iterable is sent piece by piece, yielding to other work in between. A function takes over the response. */
  readonly body: string | Iterable<string> | ((response: ServerResponse) => void)
  readonly headers?: Readonly<Record<string, string>>
}

/** Returns an answer in plain text. body: without a line end. */
export const textAnswer = (status: number, body: string): PageAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})

/** Returns an answer in JSON, formatted for people. */
export const jsonAnswer = (status: number, body: unknown): PageAnswer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(body, null, 2)}\n`,
})
