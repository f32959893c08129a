// A guarded reply that the LLM has begun and not ended.

import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect } from 'vitest'
import type { Backend } from './backend.js'
import { chat } from './guardrails.js'
import { nextReply } from './streaming-llm.js'

export interface OpenStream {
  /** Has the LLM end the reply, with a word that the webhook masks. Rejects unless the client gets all of it, masked. */
  expectGuardedEnd(): Promise<void>
}

/** Opens a streamed chat at the URL; resolves when its headers have come. */
export async function openGuardedStream(llm: Backend, url: string): Promise<OpenStream> {
  const begun = nextReply(llm)
  const outgoing = request(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent: false,
  })
  outgoing.on('error', () => undefined)
  const answered = once(outgoing, 'response')
  outgoing.end(chat('x', { stream: true }))
  const reply = await begun
  reply.say('first words and many more of them. ')
  const [response] = (await answered) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  response.on('error', () => undefined)
  const closed = once(response, 'close')
  return {
    expectGuardedEnd: async () => {
      reply.say('the secret of it all')
      reply.finish()
      reply.end()
      await closed
      expect(text).toContain('****')
      expect(text).not.toContain('secret')
      expect(response.complete).toBe(true)
    },
  }
}
