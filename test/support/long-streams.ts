// Checks that guarded replies streamed for up to 75 seconds arrive complete from one Envoy that was not restarted.

import { expect } from 'vitest'
import { chat, type GuardedStack } from './guardrails.js'
import { delta } from './streaming-llm.js'

/** Durations around and above 50 s. Envoy 1.40's treatment of streams of that age depended on how it closed them. */
const SECONDS = [35, 52, 60, 75]
const PAUSE_MS = 500

/** Runs all streams concurrently. */
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
  // A restarted Envoy would be younger than the longest stream.
  expect((await uptimeSeconds(stack)) - before).toBeGreaterThan(Math.max(...SECONDS) - 5)
}

/** Counts the words of a streamed reply, since pieces of text may arrive joined. */
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
