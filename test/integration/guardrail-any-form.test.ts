// Streams in which one text comes under many indexes, in several members, or in events of a form that no list describes,
// through the whole product: the webhook sees the text whole, or the client does not get it.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  chat,
  guardedRoute,
  type GuardedStack,
  hook,
  startGuardedStack,
} from '../support/guardrails.js'

let stack: GuardedStack

const form = { holdBack: 64, minInterval: '20ms' }

beforeAll(async () => {
  stack = await startGuardedStack([
    ...guardedRoute('/pieces', { request: [hook('guard')], response: [hook('guard', form)] }),
    // Nobody reads the requests of this route, so how many choices were asked for is not known.
    ...guardedRoute('/replies', { response: [hook('guard', form)] }),
  ])
})
afterAll(() => stack.close())
beforeEach(() => stack.reset())

/** The pieces of a text, one in each event. */
type Events = (pieces: readonly string[]) => readonly object[]

const chunk = (choice: object): object => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [choice],
})

const CASES: Readonly<Record<string, Events>> = {
  'choices whose index counts the chunks': (pieces) =>
    pieces.map((content, index) => chunk({ index, delta: { content }, finish_reason: null })),
  'a delta and a message with the same piece': (pieces) =>
    pieces.map((content) => chunk({ index: 0, delta: { content }, message: { content } })),
  'pieces in the message alone': (pieces) =>
    pieces.map((content) => chunk({ index: 0, message: { role: 'assistant', content } })),
  'messages within a choice': (pieces) =>
    pieces.map((content) => chunk({ index: 0, messages: [{ delta: { content } }] })),
  'events of a type of tomorrow': (pieces) =>
    pieces.map((text, index) => ({ type: 'x-delta', index, delta: { inner: { said: text } } })),
  'events without a type': (pieces) => pieces.map((said) => ({ turn: { said }, done: false })),
  'blocks that no event has begun': (pieces) =>
    pieces.map((text, index) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'text_delta', text },
    })),
  'items whose index grows': (pieces) =>
    pieces.map((delta, at) => ({
      type: 'response.output_text.delta',
      item_id: `i${at}`,
      output_index: at,
      content_index: 0,
      delta,
    })),
  'candidates whose index grows': (pieces) =>
    pieces.map((text, index) => ({ candidates: [{ index, content: { parts: [{ text }] } }] })),
}

/** Sends the events one by one, as a model does. */
async function streamed(path: string, events: readonly object[]): Promise<string> {
  stack.llm.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = ([event, ...others]: readonly object[]): void => {
      if (event === undefined) response.end()
      else response.write(`data: ${JSON.stringify(event)}\n\n`, () => send(others))
    }
    send(events)
  })
  const { status, body } = await stack.post(path, chat('hi', { stream: true }))
  expect(status).toBe(200)
  return body
}

/** All strings of a stream that may be a piece of the text, in the order of arrival. */
const said = (stream: string): string =>
  [...stream.matchAll(/"(?:content|said|text|delta)":"((?:[^"\\]|\\.)*)"/g)]
    .map(([, text]) => text)
    .join('')

describe.each(['/pieces', '/replies'])('a route %s', (path) => {
  test.each(Object.entries(CASES))('%s: no word gets through in pieces', async (_name, events) => {
    const pieces = ['The word ', 'is bl', 'ock', ' and that is all.']
    const body = await streamed(path, events(pieces))
    expect(said(body)).not.toContain('ock')
    expect(body).toContain('request blocked')
  })

  test.each(Object.entries(CASES))('%s: what is masked stays masked', async (_name, events) => {
    const body = await streamed(path, events(['I know ', 'a sec', 'ret ', 'that is all.']))
    expect(said(body).replaceAll('a seca sec', '')).not.toContain('secret')
    const isMasked = body.includes('****')
    const isRefused = body.includes('guardrail_unreadable') || body.includes('"error"')
    expect(isMasked || isRefused, body).toBe(true)
  })

  test.each(Object.entries(CASES))('%s: a text without either passes', async (_name, events) => {
    const all = events(['Hello, ', 'dear ', 'reader. ', 'That is all.'])
    expect(await streamed(path, all)).toBe(
      all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
    )
  })
})

test('a mask reaches the delta and the message that say the same', async () => {
  const events = CASES['a delta and a message with the same piece']?.(['a sec', 'ret ', 'word'])
  const body = await streamed('/pieces', events ?? [])
  const masked = [...body.matchAll(/^data: (.*)$/gm)].map(
    ([, data = '']) =>
      JSON.parse(data) as {
        choices: { delta: { content: string }; message: { content: string } }[]
      },
  )
  const texts = (of: 'delta' | 'message') =>
    masked.map(({ choices }) => choices[0]?.[of].content).join('')
  expect([texts('delta'), texts('message')]).toEqual(['a **** word', 'a **** word'])
})
