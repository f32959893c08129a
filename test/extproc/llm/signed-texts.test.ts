// What is true of one text alone, in bodies: signatures of thoughts and calls, offsets of annotations and citations.

import { describe, expect, test } from 'vitest'
import {
  changesSigned,
  type Conversation,
  rewrite,
} from '../../../src/extproc/llm/text/conversation.js'
import { atOnce } from '../../../src/kit/turns.js'
import { replyOf, requestOf } from './bodies.js'

const SIGNATURE = 'EqQBCkgIARABGAIiQL3dPf9f'

const contentsOf = ({ entries }: Conversation): readonly string[] =>
  entries.map(({ content }) => content.replaceAll('secret', '****'))

const masked = (found: Conversation, phase: 'request' | 'response'): unknown =>
  JSON.parse(atOnce(rewrite(found, contentsOf(found), phase)))

const thinking = (text: string, signature = SIGNATURE): object => ({
  type: 'thinking',
  thinking: text,
  signature,
})
const said = (text: string): object => ({ type: 'text', text })
const user = { role: 'user', content: 'Hello' }
const claude = (...content: object[]): object => ({
  model: 'claude',
  max_tokens: 8,
  messages: [user, { role: 'assistant', content }, user],
})
const chat = (message: object): object => ({ model: 'm', messages: [user, message, user] })
const gemini = (...parts: object[]): object => ({
  contents: [
    { role: 'user', parts: [{ text: 'Hello' }] },
    { role: 'model', parts },
  ],
})
const responses = (...items: object[]): object => ({ model: 'm', input: [user, ...items, user] })
const reasoning = (text: string, encrypted: string): object => ({
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text }],
  encrypted_content: encrypted,
})
const uiChat = (...parts: object[]): object => ({
  messages: [
    { id: 'a', role: 'user', parts: [{ type: 'text', text: 'Hello' }] },
    { id: 'b', role: 'assistant', parts },
  ],
})
const uiThought = (text: string, signature: string): object => ({
  type: 'reasoning',
  text,
  providerMetadata: { anthropic: { signature } },
})
const bedrock = (...content: object[]): object => ({
  messages: [
    { role: 'user', content: [{ text: 'Hello' }] },
    { role: 'assistant', content },
  ],
})
const bedrockThought = (text: string, signature: string): object => ({
  reasoningContent: { reasoningText: { text, signature } },
})
const geminiThought = (text: string, thoughtSignature: string): object => ({
  text,
  thought: true,
  thoughtSignature,
})

/** A thought in a request, and what the request is without it. */
const REQUESTS: readonly (readonly [string, (signature: string) => object, object])[] = [
  [
    'a block of Anthropic',
    (signature) => claude(thinking('a secret', signature), said('Hi')),
    claude(said('Hi')),
  ],
  [
    'the last block',
    (signature) => claude(said('Hi'), thinking('a secret', signature)),
    claude(said('Hi')),
  ],
  [
    'one of several',
    (signature) =>
      claude(thinking('a'), thinking('a secret', signature), thinking('b'), said('Hi')),
    claude(thinking('a'), thinking('b'), said('Hi')),
  ],
  [
    'several',
    (signature) => claude(thinking('secret', signature), thinking('secret', signature), said('Hi')),
    claude(said('Hi')),
  ],
  [
    'all that a message says',
    (signature) => claude(thinking('a secret', signature)),
    { model: 'claude', max_tokens: 8, messages: [user, user] },
  ],
  [
    'a block of Bedrock',
    (signature) => bedrock(bedrockThought('a secret', signature), { text: 'Hi' }),
    bedrock({ text: 'Hi' }),
  ],
  [
    'a part of Gemini',
    (signature) => gemini(geminiThought('a secret', signature), { text: 'Hi' }),
    gemini({ text: 'Hi' }),
  ],
  [
    'an item of a response',
    (signature) =>
      responses(reasoning('a secret', signature), { role: 'assistant', content: 'Hi' }),
    responses({ role: 'assistant', content: 'Hi' }),
  ],
  [
    'details of OpenRouter',
    (signature) =>
      chat({
        role: 'assistant',
        content: 'Hi',
        reasoning_details: [
          { type: 'reasoning.text', text: 'a secret', signature },
          { type: 'reasoning.text', text: 'b', signature: SIGNATURE },
        ],
      }),
    chat({
      role: 'assistant',
      content: 'Hi',
      reasoning_details: [{ type: 'reasoning.text', text: 'b', signature: SIGNATURE }],
    }),
  ],
  [
    'blocks of LiteLLM',
    (signature) =>
      chat({
        role: 'assistant',
        content: 'Hi',
        thinking_blocks: [thinking('a secret', signature), thinking('b')],
      }),
    chat({ role: 'assistant', content: 'Hi', thinking_blocks: [thinking('b')] }),
  ],
  [
    'a part of the AI SDK',
    (signature) => uiChat(uiThought('a secret', signature), said('Hi')),
    uiChat(said('Hi')),
  ],
]

describe.each(REQUESTS)('a thought in a request: %s', (_name, bodyOf, without) => {
  test('is left out if it changes', () => {
    expect(masked(requestOf(bodyOf(SIGNATURE)), 'request')).toEqual(without)
  })

  test('is left out if its signature has been taken out of a reply', () => {
    const body = JSON.parse(JSON.stringify(bodyOf('')).replaceAll('secret', 'thought')) as object
    expect(masked(requestOf(body), 'request')).toEqual(without)
  })

  test('stays if another text changes', () => {
    const [before, after] = ['Hello', 'secret'].map((text) =>
      JSON.stringify(bodyOf(SIGNATURE)).replaceAll('secret', 'thought').replace('Hello', text),
    )
    expect(JSON.stringify(masked(requestOf(after), 'request'))).toBe(
      before?.replace('Hello', '****'),
    )
  })

  test('counts as signed', () => {
    const found = requestOf(bodyOf(SIGNATURE))
    expect(atOnce(changesSigned(found, contentsOf(found)))).toBe(true)
  })
})

const call = (signature: string, text: string): object => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'f', arguments: JSON.stringify({ text }) },
  extra_content: { google: { thought_signature: signature } },
})

test.each([
  [
    'a call of Gemini',
    gemini({ functionCall: { name: 'f', args: { a: 'secret' } }, thoughtSignature: SIGNATURE }),
    gemini({ functionCall: { name: 'f', args: { a: '****' } }, thoughtSignature: '' }),
  ],
  [
    'an answer of Gemini',
    gemini({ text: 'a secret', thoughtSignature: SIGNATURE }),
    gemini({ text: 'a ****', thoughtSignature: '' }),
  ],
  [
    'a call in a chat',
    chat({ role: 'assistant', content: null, tool_calls: [call(SIGNATURE, 'secret')] }),
    chat({ role: 'assistant', content: null, tool_calls: [call('', '****')] }),
  ],
])('what was said to somebody loses its signature alone: %s', (_name, body, expected) => {
  expect(masked(requestOf(body), 'request')).toEqual(expected)
})

const message = (...content: object[]): object => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content,
})
const choice = (given: object): object => ({
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi', ...given } }],
})
const response = (...output: object[]): object => ({ object: 'response', id: 'resp_1', output })
const candidate = (...parts: object[]): object => ({
  candidates: [{ content: { role: 'model', parts } }],
})

test.each([
  [
    'a block of Anthropic',
    message(thinking('a secret'), thinking('b'), said('Hi')),
    message(thinking('a ****', ''), thinking('b'), said('Hi')),
  ],
  [
    'details of OpenRouter',
    choice({
      reasoning_details: [{ type: 'reasoning.text', text: 'secret', signature: SIGNATURE }],
    }),
    choice({ reasoning_details: [{ type: 'reasoning.text', text: '****', signature: '' }] }),
  ],
  [
    'an item of a response',
    response(reasoning('a secret', SIGNATURE), reasoning('b', SIGNATURE)),
    response(reasoning('a ****', ''), reasoning('b', SIGNATURE)),
  ],
  [
    'a part of Gemini',
    candidate(geminiThought('a secret', SIGNATURE), { text: 'Hi', thoughtSignature: SIGNATURE }),
    candidate(geminiThought('a ****', ''), { text: 'Hi', thoughtSignature: SIGNATURE }),
  ],
])('a thought that changes in a reply loses its signature: %s', (_name, body, expected) => {
  expect(masked(replyOf(body), 'response')).toEqual(expected)
})

const cited = (text: string, start: number, end: number): object =>
  choice({
    content: text,
    annotations: [
      {
        type: 'url_citation',
        url_citation: {
          url: 'https://a.example/b',
          title: 'A',
          start_index: start,
          end_index: end,
        },
      },
    ],
  })
const grounded = (text: string, startIndex: number, endIndex: number): object => ({
  candidates: [
    {
      content: { role: 'model', parts: [{ text }] },
      groundingMetadata: {
        groundingSupports: [{ segment: { startIndex, endIndex, text: 'there' } }],
      },
      citationMetadata: { citationSources: [{ startIndex, endIndex, uri: 'https://a.example/b' }] },
    },
  ],
})
const noted = (text: string, start: number, end: number): object =>
  response({
    type: 'message',
    role: 'assistant',
    content: [
      {
        type: 'output_text',
        text,
        annotations: [
          {
            type: 'url_citation',
            url: 'https://a.example/b',
            title: 'A',
            start_index: start,
            end_index: end,
          },
        ],
      },
    ],
  })
const cohere = (text: string, start: number, end: number): object => ({
  id: 'a',
  finish_reason: 'COMPLETE',
  message: {
    role: 'assistant',
    content: [{ type: 'text', text }],
    citations: [{ start, end, text: 'there', sources: [] }],
  },
})

test.each([
  ['a chat', cited],
  ['Gemini', grounded],
  ['a response', noted],
  ['Cohere', cohere],
])('offsets in a text that changes mark no words: %s', (_name, bodyOf) => {
  expect(masked(replyOf(bodyOf('a secret there', 9, 14)), 'response')).toEqual(
    bodyOf('a **** there', 0, 0),
  )
  expect(masked(replyOf(bodyOf('Hello there', 6, 11)), 'response')).toEqual(
    bodyOf('Hello there', 6, 11),
  )
})

test('a number in an object of a tool is no offset', () => {
  const body = choice({
    content: 'a secret',
    tool_calls: [
      { id: 'c', type: 'function', function: { name: 'f', arguments: '{"start":3,"end":9}' } },
    ],
  })
  expect(masked(replyOf(body), 'response')).toEqual(
    JSON.parse(JSON.stringify(body).replace('secret', '****')),
  )
})

test('what does not look like a signature is a text', () => {
  const body = claude(thinking('a secret', 'another secret'), said('Hi'))
  expect(masked(requestOf(body), 'request')).toEqual(
    claude(thinking('a ****', 'another ****'), said('Hi')),
  )
})
