// What a form has at one place only (calls, files, definitions, settings) is a text at every other place.

import { describe, expect, test } from 'vitest'
import { readReply } from '../../../src/extproc/llm/read-body.js'
import { atOnce } from '../../../src/kit/turns.js'
import { lines, replyOf, requestOf } from './bodies.js'
import { eventOf } from './support.js'

const TEXT = 'tell me a secret'
/** Could be base64, an id or a word. */
const WORDY = 'Ignore_all_rules'

const message = (more: object) => ({ messages: [{ role: 'user', content: 'a', ...more }] })
const part = (more: object) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'a', ...more }] }],
})
const call = (more: object) =>
  message({
    role: 'assistant',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' }, ...more }],
  })
const item = (more: object) => ({ input: [{ role: 'user', content: 'a', ...more }] })
const called = (more: object) => ({
  input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}', ...more }],
})
const inPart = (more: object) => ({ input: [{ role: 'user', content: [{ text: 'a', ...more }] }] })
const chat = (more: object) => ({
  choices: [{ message: { role: 'assistant', content: 'a' } }],
  ...more,
})
const choice = (more: object) => ({
  choices: [{ message: { role: 'assistant', content: 'a' }, ...more }],
})
const gemini = (more: object) => ({ contents: [{ parts: [{ text: 'a' }], ...more }] })
const tools = [{ name: 'f', description: TEXT }]

const textsOf = (entries: readonly { readonly kind: string; readonly content: string }[]) =>
  entries.filter(({ kind }) => kind === 'text').map(({ content }) => content)

describe('a request', () => {
  test.each<[string, object, string]>([
    ['a function in a message', message({ function: { arguments: TEXT } }), TEXT],
    ['a custom tool in a message', message({ custom: { input: TEXT } }), TEXT],
    ['a message of the type of a function', message({ type: 'function', arguments: TEXT }), TEXT],
    ['a function in a part', part({ function: { arguments: TEXT } }), TEXT],
    ['a part of the type of a function', part({ type: 'function', arguments: TEXT }), TEXT],
    ['arguments beside the function of a call', call({ arguments: TEXT }), TEXT],
    ['parts of a call', call({ content: [{ type: 'tool_use', input: TEXT }] }), TEXT],
    ['tools of a message', message({ type: 'mcp_tool_listing', tools }), TEXT],
    ['an image in a message', message({ image_url: WORDY }), WORDY],
    ['a file in a message', message({ file_data: WORDY, type: 'file' }), WORDY],
    ['a source in a message', message({ source: { type: 'base64', data: WORDY } }), WORDY],
    ['sound in a message', message({ input_audio: { data: WORDY } }), WORDY],
    ['an image in base64 in a part', part({ b64_json: WORDY }), WORDY],
    ['sound in a part of text', part({ input_audio: WORDY }), WORDY],
    ['a source in a part of text', part({ source: { type: 'base64', data: WORDY } }), WORDY],
    ['a file in a part of an item', inPart({ type: 'input_text', file_data: WORDY }), WORDY],
    ['images in a part', part({ images: [WORDY] }), WORDY],
    ['a call of another kind in a call', called({ input: TEXT }), TEXT],
    ['an action of a call', called({ action: TEXT, operation: TEXT }), TEXT],
    ['a call in a part of an item', inPart({ type: 'function_call', arguments: TEXT }), TEXT],
    ['tools of a message item', item({ tools }), TEXT],
    ['an image of an item', item({ image_url: WORDY, file_data: WORDY }), WORDY],
    ['a call of a content', gemini({ functionCall: { args: { a: TEXT } } }), TEXT],
    ['a file of a content', gemini({ inlineData: { data: WORDY } }), WORDY],
    [
      'the input of a block of the system prompt',
      { messages: [], system: [{ type: 'tool_use', input: { a: TEXT } }] },
      TEXT,
    ],
    [
      'the input of a prediction',
      { messages: [], prediction: { type: 'tool_use', input: { a: TEXT } } },
      TEXT,
    ],
    ['a list in place of a tool', { messages: [], tools: [[TEXT]] }, TEXT],
    ['tools beside a completion', { prompt: 'a', tools }, TEXT],
    ['functions beside a response', { input: 'a', functions: tools }, TEXT],
    ['tools beside what is to be embedded', { input: ['a'], tools }, TEXT],
    [
      'an object in place of a key',
      { messages: [], user: { type: 'request', user: WORDY } },
      WORDY,
    ],
    [
      'a type that is the name of a place',
      { messages: [], reasoning: { type: 'mcp_servers', authorization_token: WORDY } },
      WORDY,
    ],
    [
      'a call in the variables of a prompt',
      { prompt: { id: 'p', variables: { a: { type: 'function_call', arguments: TEXT } } } },
      TEXT,
    ],
  ])('%s', (_name, body, text) => {
    expect(textsOf(requestOf(body).entries).join('\n')).toContain(text)
  })

  test('calls and settings at their own places stay what they are', () => {
    expect(
      lines(
        requestOf({
          messages: [
            {
              role: 'assistant',
              content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: 'b' } }],
              tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'f', input: 'd' } }],
            },
          ],
        }),
      ),
    ).toEqual(['assistant: ', '[tool-call] tool_call: {"a":"b"}', '[tool-call] tool_call: d'])
  })
})

describe('a reply', () => {
  test.each<[string, object, string]>([
    ['tools beside choices', chat({ tools }), TEXT],
    ['tools beside candidates', { candidates: [], tools }, TEXT],
    ['tools beside content', { content: [], tools }, TEXT],
    ['a call beside a message', choice({ function_call: { arguments: TEXT } }), TEXT],
    ['an image beside a message', choice({ image_url: WORDY }), WORDY],
  ])('%s', (_name, body, text) => {
    expect(textsOf(replyOf(body).entries).join('\n')).toContain(text)
  })

  test('of a stored response shows no definitions of tools', () => {
    const found = atOnce(readReply(Buffer.from(JSON.stringify({ output: [], tools })), 'any'))
    expect(found.ok && textsOf(found.value.entries).join('')).toBe('')
  })
})

describe('an event', () => {
  test.each<[string, object, string]>([
    ['tools beside choices', { choices: [{ index: 0, delta: {} }], tools }, TEXT],
    ['a function in a delta', { choices: [{ delta: { function: { arguments: TEXT } } }] }, TEXT],
    ['tools of a message', { type: 'message_start', message: { content: [], tools } }, TEXT],
    ['a name of a ping', { type: 'ping', name: WORDY }, WORDY],
    ['padding of a ping', { type: 'ping', obfuscation: WORDY }, WORDY],
    [
      'padding of a response',
      { type: 'response.created', response: { output: [], p: WORDY } },
      WORDY,
    ],
    ['an item of a chunk', { choices: [], item_id: WORDY }, WORDY],
  ])('%s', (_name, data, text) => {
    const { pieces, repeats } = eventOf(data)
    const texts = [...pieces, ...repeats].filter(({ kind }) => kind === 'text')
    expect(texts.map((one) => one.text).join('\n')).toContain(text)
  })
})
