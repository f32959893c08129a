// Several texts in the content of one result or message of MCP are numbered, so that a webhook can judge them joined.

import { expect, test } from 'vitest'
import {
  NOTHING_ASKED,
  readClientMessages,
  readServerMessages,
} from '../../../../src/extproc/mcp/texts/guarded-message.js'
import { readJsonText } from '../../../../src/kit/json/json-text.js'
import { atOnce } from '../../../../src/kit/turns.js'

/** Returns each text with its message and its part. */
function partsOf(from: 'client' | 'server', ...messages: readonly object[]): readonly unknown[] {
  const whole = messages.map((message) => ({ jsonrpc: '2.0', id: 1, ...message }))
  const json = readJsonText(JSON.stringify(whole.length === 1 ? whole[0] : whole))
  if (!json.ok) throw new Error(json.error)
  const read = atOnce(
    from === 'client'
      ? readClientMessages(json.value)
      : readServerMessages(json.value, NOTHING_ASKED),
  )
  if (!read.ok) throw new Error(read.error)
  return read.value.flatMap(({ entries }) =>
    entries.map(({ content, part }) =>
      part === undefined ? content : [content, part.message, part.index, part.of],
    ),
  )
}

const text = (text: string): object => ({ type: 'text', text })

test('those of a result are parts of one message, and what is beside them is none', () => {
  const result = { content: [text('se'), text('cret')], structuredContent: { a: 'x', b: 'y' } }
  expect(partsOf('server', { result })).toEqual([['se', 0, 0, 2], ['cret', 0, 1, 2], 'x', 'y'])
})

test('those of several results are of several messages; a text alone has no number', () => {
  const results = [['a', 'b'], ['c'], ['d', 'e']].map((texts) => ({
    result: { content: texts.map(text) },
  }))
  expect(partsOf('server', ...results)).toEqual([
    ['a', 0, 0, 2],
    ['b', 0, 1, 2],
    'c',
    ['d', 2, 0, 2],
    ['e', 2, 1, 2],
  ])
})

test('an embedded resource is a part, and so are the parts of a message for sampling', () => {
  const resource = { type: 'resource', resource: { uri: 'file:///a', text: 'cret' } }
  expect(partsOf('server', { result: { content: [text('se'), resource] } })).toEqual([
    ['se', 0, 0, 2],
    ['cret', 0, 1, 2],
  ])
  const messages = [{ role: 'user', content: [text('se'), text('cret')] }]
  const method = 'sampling/createMessage'
  expect(partsOf('server', { method, params: { messages } })).toEqual([
    ['se', 0, 0, 2],
    ['cret', 0, 1, 2],
  ])
})

test('arguments of a tool are texts of their own, whatever they are called', () => {
  const params = { name: 'x', arguments: { content: [text('a'), text('b')], c: ['d', 'e'] } }
  expect(partsOf('client', { method: 'tools/call', params })).toEqual(
    expect.arrayContaining(['a', 'b', 'd', 'e']),
  )
})
