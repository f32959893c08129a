// One interface to the official clients of the LLM APIs: returns what the client received of the answer, and any error
// that it raised.

import Anthropic, { APIError as AnthropicError } from '@anthropic-ai/sdk'
import OpenAI, { APIError as OpenaiError } from 'openai'
import { askGemini, GeminiError } from './gemini.js'
import type { Ask, Ears } from './llm-ask.js'

export interface Heard {
  readonly text: string
  /** Each tool call as "name(arguments)". */
  readonly calls: readonly string[]
  /** Everything that the client returned, as JSON. */
  readonly everything: string
  /** In how many turns of the event loop pieces of the text came. */
  readonly turns: number
  readonly error?: { readonly status: number | undefined; readonly message: string }
}

export const LLM_APIS = ['chat', 'completions', 'responses', 'messages', 'gemini'] as const
export type LlmApi = (typeof LLM_APIS)[number]

export async function askLlm(api: LlmApi, ask: Ask): Promise<Heard> {
  const events: unknown[] = []
  const calls = new Map<string | number, { name: string; args: string }>()
  let text = ''
  let turns = 0
  let isSameTurn = false
  const ears: Ears = {
    event: (event) => events.push(event),
    text: (piece) => {
      text += piece
      if (piece === '' || isSameTurn) return
      turns += 1
      isSameTurn = true
      setImmediate(() => (isSameTurn = false))
    },
    call: (key, name, args) => {
      const before = calls.get(key) ?? { name: '', args: '' }
      calls.set(key, { name: before.name + name, args: before.args + args })
    },
  }
  const error = await ASKERS[api](ask, ears).catch(asHeard)
  return {
    text,
    calls: [...calls.values()].map(({ name, args }) => `${name}(${args})`),
    everything: JSON.stringify(events),
    turns,
    ...(error !== undefined && { error }),
  }
}

/**
 * Converts the error that a client raises for an error response, or for a connection that breaks in the middle of a
 * body (fetch's own error). Rethrows anything else.
 */
function asHeard(raised: unknown): Heard['error'] {
  if (raised instanceof TypeError && raised.message === 'terminated')
    return { status: undefined, message: raised.message }
  const known = [OpenaiError, AnthropicError, GeminiError].some((kind) => raised instanceof kind)
  if (!known) throw raised
  const { status, message } = raised as { status: number | undefined; message: string }
  return { status, message }
}

type Asker = (ask: Ask, ears: Ears) => Promise<void>

const openai = ({ url, headers = {} }: Ask): OpenAI =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'k', maxRetries: 0, defaultHeaders: headers })

const chat: Asker = async (ask, ears) => {
  const messages = [{ role: 'user' as const, content: ask.prompt }]
  const api = openai(ask).chat.completions
  if (!ask.stream) {
    const answer = await api.create({ model: 'm', messages })
    ears.event(answer)
    for (const { message } of answer.choices) {
      ears.text(message.content ?? '')
      for (const [index, call] of (message.tool_calls ?? []).entries())
        if (call.type === 'function') ears.call(index, call.function.name, call.function.arguments)
    }
    return
  }
  for await (const chunk of await api.create({ model: 'm', messages, stream: true })) {
    ears.event(chunk)
    for (const { delta } of chunk.choices) {
      ears.text(delta.content ?? '')
      for (const { index, function: part } of delta.tool_calls ?? [])
        ears.call(index, part?.name ?? '', part?.arguments ?? '')
    }
  }
}

const completions: Asker = async (ask, ears) => {
  const api = openai(ask).completions
  const { prompt } = ask
  const answers = ask.stream
    ? await api.create({ model: 'm', prompt, stream: true })
    : [await api.create({ model: 'm', prompt })]
  for await (const answer of answers) {
    ears.event(answer)
    // Some servers omit the text at the end of a choice.
    for (const { text } of answer.choices as { text?: string }[]) ears.text(text ?? '')
  }
}

const responses: Asker = async (ask, ears) => {
  const api = openai(ask).responses
  if (!ask.stream) {
    const answer = await api.create({ model: 'm', input: ask.prompt })
    ears.event(answer)
    ears.text(answer.output_text)
    for (const item of answer.output)
      if (item.type === 'function_call') ears.call(item.call_id, item.name, item.arguments)
    return
  }
  for await (const event of await api.create({ model: 'm', input: ask.prompt, stream: true })) {
    ears.event(event)
    if (event.type === 'response.output_text.delta') ears.text(event.delta)
    if (event.type === 'response.output_item.done' && event.item.type === 'function_call')
      ears.call(event.item.call_id, event.item.name, event.item.arguments)
  }
}

const messages: Asker = async (ask, ears) => {
  const { url, prompt, headers = {} } = ask
  const api = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0, defaultHeaders: headers })
  const question = {
    model: 'm',
    max_tokens: 1000,
    messages: [{ role: 'user' as const, content: prompt }],
  }
  if (!ask.stream) {
    const answer = await api.messages.create(question)
    ears.event(answer)
    for (const block of answer.content) {
      if (block.type === 'text') ears.text(block.text)
      if (block.type === 'tool_use') ears.call(block.id, block.name, JSON.stringify(block.input))
    }
    return
  }
  for await (const event of await api.messages.create({ ...question, stream: true })) {
    ears.event(event)
    if (event.type === 'content_block_start' && event.content_block.type === 'tool_use')
      ears.call(event.index, event.content_block.name, '')
    if (event.type !== 'content_block_delta') continue
    if (event.delta.type === 'text_delta') ears.text(event.delta.text)
    if (event.delta.type === 'input_json_delta')
      ears.call(event.index, '', event.delta.partial_json)
  }
}

const ASKERS: Readonly<Record<LlmApi, Asker>> = {
  chat,
  completions,
  responses,
  messages,
  gemini: askGemini,
}
