// Whole streams of a third-party LLM server (aimock), in every API: every text is read, repeated texts match the
// originals, and the official clients get what is written back.

import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  endedBy,
  type EventTexts,
  type StreamEvent,
} from '../../../src/extproc/llm/text/stream-event.js'
import type { EventFrame } from '../../../src/extproc/sse/framing/frame.js'
import { createSseReader } from '../../../src/extproc/sse/framing/sse-frames.js'
import { type Aimock, startAimock } from '../../support/aimock.js'
import { someRows } from '../../support/some-rows.js'
import { ended, eventOf, pushed, rewritten, withData } from './support.js'

const TEXT = 'The quick brown fox\nwrites to "a@b.example" 🦊.'
const THOUGHT = 'A fox? It jumps.'
const ARGUMENTS = '{"to":"a@b.example","subject":"fox"}'

let llm: Aimock

beforeAll(async () => {
  const toolCalls = [{ name: 'mail', arguments: ARGUMENTS }]
  const response = { content: TEXT, reasoning: THOUGHT, toolCalls }
  llm = await startAimock([{ match: {}, response }], { milliseconds: 0 })
})

afterAll(() => llm.close())

interface Api {
  readonly path: string
  readonly body: object
  /** The text that the official client reads from the stream; undefined: there is no client here. */
  readonly client?: (fetch: typeof globalThis.fetch) => Promise<unknown>
}

const messages = [{ role: 'user' as const, content: 'hi' }]
const baseURL = 'http://llm.example'

const APIS: Readonly<Partial<Record<StreamEvent['api'], Api>>> = {
  'openai-chat': {
    path: '/v1/chat/completions',
    body: { model: 'gpt-5.4', messages, stream: true, stream_options: { include_usage: true } },
    client: async (fetch) => {
      const client = new OpenAI({ apiKey: 'none', baseURL, fetch, maxRetries: 0 })
      return client.chat.completions.stream({ model: 'gpt-5.4', messages }).finalChatCompletion()
    },
  },
  'openai-responses': {
    path: '/v1/responses',
    body: { model: 'gpt-5.4', input: 'hi', stream: true },
    client: async (fetch) => {
      const client = new OpenAI({ apiKey: 'none', baseURL, fetch, maxRetries: 0 })
      return client.responses.stream({ model: 'gpt-5.4', input: 'hi' }).finalResponse()
    },
  },
  'anthropic-messages': {
    path: '/v1/messages',
    body: { model: 'claude-sonnet-5', max_tokens: 100, messages, stream: true },
    client: async (fetch) => {
      const client = new Anthropic({ apiKey: 'none', baseURL, fetch, maxRetries: 0 })
      const asked = { model: 'claude-sonnet-5', max_tokens: 100, messages }
      return client.messages.stream(asked).finalMessage()
    },
  },
  gemini: {
    path: '/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse',
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  },
}

const apis = Object.entries(APIS)

async function framesOf({ path, body }: Api): Promise<readonly EventFrame[]> {
  const reply = await fetch(`http://${llm.host}:${llm.port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer none' },
    body: JSON.stringify(body),
  })
  expect(reply.headers.get('content-type')).toContain('text/event-stream')
  const bytes = new Uint8Array(await reply.arrayBuffer())
  const reader = createSseReader(1_000_000)
  const frames = [...Array(bytes.length).keys()].flatMap((at) => {
    const read = pushed(reader, bytes.subarray(at, at + 1))
    if (!read.ok) throw new Error(read.error)
    return read.value
  })
  expect(ended(reader)).toEqual({ ok: true, value: [] })
  return frames
}

const eventsOf = (frames: readonly EventFrame[]): readonly StreamEvent[] =>
  frames.flatMap(({ data }) => (data === undefined || data === '[DONE]' ? [] : [eventOf(data)]))

/** The pieces of each channel, joined. */
function joined(events: readonly StreamEvent[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { pieces } of events)
    for (const { channel, text } of pieces) texts.set(channel, (texts.get(channel) ?? '') + text)
  return texts
}

describe.each(apis)('%s', (name, api) => {
  test('gives the text that the server sent', async () => {
    const events = eventsOf(await framesOf(api))
    expect(new Set(events.map((event) => event.api))).toEqual(new Set([name]))
    const texts = joined(events)
    const said = [...texts.values()].filter((text) => text !== '')
    expect(said.sort()).toEqual([TEXT, THOUGHT, ARGUMENTS].sort())
    for (const { channel, text } of events.flatMap(({ repeats }) => repeats))
      expect([channel, text]).toEqual([channel, texts.get(channel)])
  })

  test('ends every text, and adds nothing afterwards', async () => {
    const events = eventsOf(await framesOf(api))
    const open = new Set(joined(events).keys())
    for (const { pieces, ends } of events) {
      for (const { channel } of pieces) expect(open).toContain(channel)
      for (const channel of open) if (endedBy(ends)(channel)) open.delete(channel)
    }
    expect([...open]).toEqual([])
  })

  test('stays the same, byte for byte, when nothing changes', async () => {
    const frames = await framesOf(api)
    const texts = { pieces: [], repeats: [] }
    for (const frame of frames)
      if (frame.data !== undefined && frame.data !== '[DONE]')
        expect(withData(frame, rewritten(eventOf(frame.data), texts))).toBe(frame.raw)
  })
})

const withClient = apis.flatMap(([name, { client, ...api }]) =>
  client === undefined ? [] : [[name, api, client] as const],
)

test.each(someRows(withClient))(
  '%s reaches the official client as it was changed',
  async (_name, api, client) => {
    const shout = (said: readonly { readonly text: string }[]): string[] =>
      said.map(({ text }) => text.replaceAll('o', '0'))
    const changed = (await framesOf(api)).map((frame) => {
      if (frame.data === undefined || frame.data === '[DONE]') return frame.raw
      const event = eventOf(frame.data)
      const texts: EventTexts = { pieces: shout(event.pieces), repeats: shout(event.repeats) }
      return withData(frame, rewritten(event, texts))
    })
    const headers = { 'content-type': 'text/event-stream' }
    const got = JSON.stringify(
      await client(() => Promise.resolve(new Response(changed.join(''), { headers }))),
    )
    for (const text of [TEXT, ARGUMENTS].map((said) => said.replaceAll('o', '0')))
      expect([JSON.stringify(text), text].some((form) => got.includes(form))).toBe(true)
    expect(got).not.toMatch(/fox|brown/)
  },
)
