// An LLM that streams chat completions event by event, as the test directs, and notices disconnects.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Backend } from './backend.js'

export interface OpenReply {
  /** Writes raw text to the stream. */
  write(text: string): void
  event(data: object): void
  /** Sends text of a choice, in pieces of `size` characters. */
  say(text: string, options?: { readonly size?: number; readonly choice?: number }): void
  /** Ends a choice. */
  finish(reason?: string, choice?: number): void
  /** Sends [DONE] and ends the response. */
  end(): void
  /** Breaks the connection. */
  destroy(): void
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>
  readonly response: ServerResponse
}

export const delta = (change: object, choice = 0): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: choice, delta: change, finish_reason: null }],
})

/** Resolves to the reply to the next request that reaches the LLM. */
export const nextReply = (
  llm: Backend,
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenReply> =>
  new Promise((resolve) => {
    llm.answer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
      response.flushHeaders()
      resolve(openReply(response))
    })
  })

function openReply(response: ServerResponse): OpenReply {
  const write = (text: string): void => void response.write(text)
  const event = (data: object): void => write(`data: ${JSON.stringify(data)}\n\n`)
  return {
    write,
    event,
    say: (text, { size = 7, choice = 0 } = {}) => {
      for (let at = 0; at < text.length; at += size)
        event(delta({ content: text.slice(at, at + size) }, choice))
    },
    finish: (reason = 'stop', choice = 0) =>
      event({
        ...delta({}, choice),
        choices: [{ index: choice, delta: {}, finish_reason: reason }],
      }),
    end: () => {
      write('data: [DONE]\n\n')
      response.end()
    },
    destroy: () => void response.socket?.destroy(),
    closed: once(response, 'close'),
    response,
  }
}
