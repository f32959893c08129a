// The LLM part of the tour, through a misbehaving gateway.

import { afterEach, expect, test } from 'vitest'
import { createPrint } from '../../../src/cli/demo/print.js'
import { takeLlmTour } from '../../../src/cli/demo/tour-llm.js'
import { type Backend, startBackend } from '../../support/backend.js'

const MASKED = 'I am [email].'
const BLOCKED = 'The password is swordfish.'
const saying = (content: string): object => ({ choices: [{ message: { content } }] })

let gateway: Backend | undefined
afterEach(() => gateway?.close())

interface Reply {
  readonly status: number
  readonly json: unknown
}

/** The tour's end, at a gateway that gives these answers in turn and a model that got these prompts. */
async function endOfTour(replies: readonly Reply[], prompts: readonly string[]): Promise<unknown> {
  const server = (gateway = await startBackend())
  server.answer((_request, response) => {
    const { status, json } = replies[server.requests.length - 1] ?? { status: 500, json: '' }
    response.writeHead(status).end(JSON.stringify(json))
  })
  const lastPrompt = (): string => prompts[server.requests.length - 1] ?? ''
  const print = createPrint(() => undefined, false)
  const model = { lastPrompt, isSpeaking: () => false }
  return takeLlmTour(server.origin, model, print).catch((error: unknown) => String(error))
}

const good = { status: 200, json: saying('To [email]') }

test.each([
  [
    [{ status: 503, json: { error: 'x' } }],
    [],
    'expected 200 from a prompt with an address, got 503 with {"error":"x"}',
  ],
  [[{ status: 200, json: {} }], [MASKED], 'expected a chat completion, got {}'],
  [
    [good],
    ['I am bob@example.com'],
    'expected [email] and no address in the prompt at the model, got "I am bob@example.com"',
  ],
  [
    [{ status: 200, json: saying('To [email], eve@example.com') }],
    [MASKED],
    'expected [email] and no address in the reply, got "To [email], eve@example.com"',
  ],
  [
    [{ status: 200, json: saying('hi') }],
    [MASKED],
    'expected [email] and no address in the reply, got "hi"',
  ],
  [
    [good, good],
    [MASKED, BLOCKED],
    /^UnexpectedAnswer: expected 403 from a prompt with a blocked word, got 200 with /,
  ],
  [
    [good, { status: 403, json: 'no' }],
    [MASKED, BLOCKED],
    'expected that the model is not asked, but it was',
  ],
])('%j', async (replies, prompts, message) => {
  const end = await endOfTour(replies, prompts)
  if (typeof message === 'string') expect(end).toBe(`UnexpectedAnswer: ${message}`)
  else expect(end).toMatch(message)
})
