// Any body: reading never throws, and a change affects only the places of the texts, byte for byte.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readReply, readRequest } from '../../../src/extproc/llm/read-body.js'
import { rewrite } from '../../../src/extproc/llm/text/conversation.js'
import type { Span } from '../../../src/kit/json/json-node.js'
import { applyEdits } from '../../../src/kit/json/json-text.js'
import type { Result } from '../../../src/kit/result.js'
import { atOnce, Pace } from '../../../src/kit/turns.js'
import { runs } from '../../support/runs.js'
import type { Read } from './bodies.js'

/** Names and words that the APIs know, so that generated bodies come near to theirs. */
const NAMES = [
  'messages',
  'system',
  'prompt',
  'suffix',
  'input',
  'instructions',
  'contents',
  'content',
  'systemInstruction',
  'parts',
  'text',
  'role',
  'type',
  'tool_calls',
  'function',
  'arguments',
  'choices',
  'message',
  'output',
  'candidates',
  'data',
  'embedding',
  'source',
  'functionCall',
  'args',
  'functionResponse',
  'response',
  'summary',
  'logprobs',
  'variables',
  'action',
  'Text',
]
const WORDS = [
  'user',
  'text',
  'message',
  'input_text',
  'output_text',
  'tool_use',
  'tool_result',
  'document',
  'reasoning',
  'function_call',
  'function_call_output',
  'shell_call',
  'words',
]
const { tree: near } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.constantFrom(...WORDS, null, 1.5, true),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('tree'), { maxKeys: 4 }),
  ),
}))

const role = fc.constantFrom('user', 'assistant')
const text = fc.string({ unit: 'binary' })
const part = text.map((said) => ({ type: 'text', text: said, id: 'i' }))
const content = fc.oneof(text, fc.array(part))
const item = fc.oneof(
  fc.record({ role, content: text }),
  fc.record({ type: fc.constant('function_call'), arguments: fc.json() }),
  fc.record({ type: fc.constant('function_call_output'), output: text }),
)
const block = fc.oneof(
  part,
  fc.record({
    type: fc.constant('tool_use'),
    id: text,
    input: fc.dictionary(text, fc.jsonValue()),
  }),
  fc.record({ type: fc.constant('tool_result'), content }),
)
const geminiPart = fc.oneof(
  fc.record({ text }),
  fc.record({ functionCall: fc.record({ args: fc.dictionary(text, fc.jsonValue()) }) }),
  fc.record({ functionResponse: fc.record({ response: fc.dictionary(text, text) }) }),
)
const contents = fc.array(fc.record({ role, parts: fc.array(geminiPart) }))
const model = text

const REQUESTS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'a chat completion': fc.record({ model, messages: fc.array(fc.record({ role, content })) }),
  completions: fc.record({ model, prompt: fc.oneof(text, fc.array(text)), suffix: text }),
  'a response': fc.record({ model, instructions: text, input: fc.oneof(text, fc.array(item)) }),
  embeddings: fc.record({ model, input: fc.array(text) }),
  'messages of Anthropic': fc.record({
    system: content,
    messages: fc.array(fc.record({ role, content: fc.array(block) })),
  }),
  'contents of Gemini': fc.record({ model, contents }),
}
const REPLIES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'a chat completion': fc.record({
    choices: fc.array(fc.record({ message: fc.record({ content }) })),
  }),
  completions: fc.record({ choices: fc.array(fc.record({ text })) }),
  'a response': fc.record({ id: text, output: fc.array(item) }),
  'a message of Anthropic': fc.record({ id: text, content: fc.array(block) }),
  'candidates of Gemini': fc.record({
    candidates: contents.map((all) => all.map((said) => ({ content: said }))),
  }),
}

const bytes = (body: string): Uint8Array => new TextEncoder().encode(body)

/** The text without what stands in these places. */
const around = (json: string, places: readonly Span[]): string =>
  atOnce(
    applyEdits(
      json,
      places.map((place) => ({ ...place, json: '' })),
      new Pace(),
    ),
  )

function changesItsPlacesAlone(read: Read, value: unknown, space: string): void {
  const result = atOnce(read(bytes(JSON.stringify(value, null, space))))
  if (!result.ok) throw new Error(result.error)
  const { json, entries } = result.value
  const places = entries.flatMap(({ place }) => place ?? [])
  const change = (index: number, isJson: boolean | undefined): string =>
    isJson === true ? `{"n":${String(index)}}` : `<${String(index)}>`
  const contents = entries.map(({ isJson }, index) => change(index, isJson))
  const again = atOnce(read(bytes(atOnce(rewrite(result.value, contents)))))
  if (!again.ok) throw new Error(again.error)
  const written = entries.map(({ place, content: was }, index) =>
    place === undefined ? was : contents[index],
  )
  expect(again.value.entries.map((entry) => entry.content)).toEqual(written)
  const placesNow = again.value.entries.flatMap(({ place }) => place ?? [])
  expect(around(again.value.json.text, placesNow)).toBe(around(json.text, places))
  const same = entries.map((entry) => entry.content)
  expect(atOnce(rewrite(result.value, same))).toBe(json.text)
}

const space = fc.constantFrom('', ' ', '\r\n\t')

describe.each([
  ['requests', readRequest, REQUESTS],
  ['replies', readReply, REPLIES],
] as const)('%s', (_name, read, forms) => {
  test('any JSON is read or refused, and nothing is thrown', () => {
    fc.assert(
      fc.property(fc.oneof(near, fc.jsonValue()), (value) => {
        expect(typeof atOnce<Result<unknown, string>>(read(bytes(JSON.stringify(value)))).ok).toBe(
          'boolean',
        )
      }),
      { numRuns: runs(2_000) },
    )
  })

  test.each(Object.keys(forms))('%s: a change reaches its places alone', (name) => {
    fc.assert(
      fc.property(forms[name] ?? fc.constant({}), space, (value, indent) =>
        changesItsPlacesAlone(read, value, indent),
      ),
    )
  })
})
