// An LLM that answers immediately, and a webhook that takes a second for each prompt but answers for replies
// immediately.

import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface HeldServers {
  /** Port of each server. */
  readonly llm: number
  readonly webhook: number
  close(): void
}

const SLOW_MS = 1_000

const COMPLETION = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'bench',
  choices: [
    { index: 0, message: { role: 'assistant', content: 'Fine words.' }, finish_reason: 'stop' },
  ],
})

const answer =
  (body: string, msFor: (asked: string) => number): RequestListener =>
  (request, response) => {
    const send = (): void => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(body)
    }
    // The client may have disconnected.
    text(request).then(
      (asked) => void setTimeout(send, msFor(asked)),
      () => {},
    )
  }

export async function startHeldServers(): Promise<HeldServers> {
  const llm = await listening(answer(COMPLETION, () => 0))
  const isPrompt = (asked: string): boolean => asked.slice(0, 200).includes('"messages"')
  const webhook = await listening(
    answer('{"action":{}}', (asked) => (isPrompt(asked) ? SLOW_MS : 0)),
  )
  return {
    llm: portOf(llm),
    webhook: portOf(webhook),
    close: () => {
      for (const server of [llm, webhook]) {
        server.close()
        server.closeAllConnections()
      }
    },
  }
}

async function listening(listener: RequestListener): Promise<Server> {
  const server = createServer(listener)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port
