// Guarded replies that an LLM streams for longer than a minute, and whether each came whole from one and the same Envoy.

import { expect } from 'vitest'
import { chat, type GuardedStack } from './guardrails.js'
import { delta } from './streaming-llm.js'

/** Around 50 s and above: what Envoy 1.40 did with streams of that age depended on how it closed them. */
const SECONDS = [35, 52, 60, 75]
const PAUSE_MS = 500

/** All of them side by side. */
export async function expectWholeStreams(stack: GuardedStack): Promise<void> {
  stack.llm.answer(({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let left = (Number(headers['x-seconds']) * 1_000) / PAUSE_MS
    const timer = setInterval(() => {
      response.write(`data: ${JSON.stringify(delta({ content: `word ${String(left)} ` }))}\n\n`)
      left -= 1
      if (left > 0) return
      clearInterval(timer)
      response.end('data: [DONE]\n\n')
    }, PAUSE_MS)
    response.on('close', () => clearInterval(timer))
  })
  const before = await uptimeSeconds(stack)
  const replies = await Promise.all(
    SECONDS.map((seconds) =>
      stack.post('/both', chat('hello', { stream: true }), { 'x-seconds': String(seconds) }),
    ),
  )
  expect(replies.map(({ status, body }) => [status, wordsOf(body), isWhole(body)])).toEqual(
    SECONDS.map((seconds) => [200, (seconds * 1_000) / PAUSE_MS, true]),
  )
  // An Envoy that was started again in between is younger than the longest stream.
  expect((await uptimeSeconds(stack)) - before).toBeGreaterThan(Math.max(...SECONDS) - 5)
}

/** Pieces of text come as they were said or joined; their words are the same. */
const wordsOf = (body: string): number =>
  body
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)) as Chunk)
    .map(({ choices }) => choices[0]?.delta.content ?? '')
    .join('')
    .split('word ').length - 1

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[]
}

const isWhole = (body: string): boolean => body.endsWith('data: [DONE]\n\n')

async function uptimeSeconds({ envoyAdmin }: GuardedStack): Promise<number> {
  const answer = await fetch(`${envoyAdmin}/server_info`)
  const info = (await answer.json()) as { uptime_current_epoch: string }
  return Number.parseInt(info.uptime_current_epoch, 10)
}
