// Event streams whose lines some clients split differently from the standard: Python's splitlines() recognises eleven
// line endings. The webhook has seen whatever such a client reads as an event.

import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { asked, chat, type GuardedStack, startGuardedStack } from '../support/guardrails.js'
import { delta, nextReply } from '../support/streaming-llm.js'

let stack: GuardedStack

beforeAll(async () => {
  stack = await startGuardedStack()
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

const event = (content: string): string => `data: ${JSON.stringify(delta({ content }))}\n\n`

/** What the client received of a stream of the LLM. */
async function pass(stream: string): Promise<string> {
  const reply = nextReply(stack.llm)
  const answer = stack.post('/both', chat('x', { stream: true }))
  ;(await reply).response.end(stream)
  return (await answer).body
}

const PYTHON = `
import json, sys
data = []
for line in sys.stdin.buffer.read().decode().splitlines():
    if line.startswith('data:'):
        data.append(line[5:].strip())
print(json.dumps(data))
`
/** The data of each line, as Python reads them. */
const dataInPython = (stream: string): readonly string[] =>
  JSON.parse(execFileSync('python3', ['-c', PYTHON], { input: stream }).toString()) as string[]

const windows = (): string =>
  asked(stack.webhook)
    .map(({ choices }) => choices?.[0]?.message.content ?? '')
    .join('\n')

const LINE_ENDS = ['\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029', '\r']

test.each(
  LINE_ENDS.flatMap((end) =>
    ([':', 'event: x', 'id: 1', 'retry: 1', ''] as const).map((field) => [field, end] as const),
  ),
)('an event behind %j and %j is seen too', async (field, end) => {
  const hidden = event('a hidden secret').trimEnd()
  const body = await pass(
    `${event('hello')}${field}${end}${hidden}${end}${end}\n\n${event('more')}`,
  )
  const hasSeen = windows().includes('a hidden secret')
  if (!hasSeen) expect(body).not.toContain('hidden')
  expect(body).not.toContain('secret')
  for (const data of dataInPython(body))
    if (data !== '') expect(() => JSON.parse(data) as unknown).not.toThrow()
})

test.each(['\x85', '\u2028', '\u2029'])(
  'a text with %j is one event for every client, masked or not',
  async (end) => {
    const raw = (text: string): string => event(text).replaceAll(/[\x85\u2028\u2029]/g, end)
    const body = await pass(
      `${raw(`plain${end}data: 1`)}${raw(`a secret${end}too`)}data: [DONE]\n\n`,
    )
    const texts = dataInPython(body)
      .filter((data) => data !== '[DONE]')
      .map((data) => JSON.parse(data) as { choices: { delta: { content: string } }[] })
      .map(({ choices }) => choices[0]?.delta.content)
    expect(texts.join('')).toBe(`plain${end}data: 1a ****${end}too`)
    expect(texts).toHaveLength(2)
  },
)

test('a comment keeps the connection open without its text, which a client might show', async () => {
  const body = await pass(
    `: ping\n\n: OPENROUTER PROCESSING\n\n: the secret is swordfish\n\n${event('hello')}`,
  )
  expect(body).toBe(`: ping\n\n: OPENROUTER PROCESSING\n\n:\n\n${event('hello')}`)
})

test.each([
  ['event', 'the secret is swordfish'],
  ['retry', 'swordfish'],
  ['event', '剑鱼'],
])('%s: %s is no name: the stream ends', async (field, text) => {
  const body = await pass(`${event('hello')}${field}: ${text}\n${event('more')}`)
  expect(body).toContain('"guardrail_unreadable"')
  expect(body).not.toContain(text)
})

test('an id that could be a text leaves as an empty comment, as no client sends it back', async () => {
  const body = await pass(`${event('hello')}id: the secret is swordfish\n${event('more')}`)
  expect(body).toBe(`${event('hello')}:\n${event('more')}`)
})
