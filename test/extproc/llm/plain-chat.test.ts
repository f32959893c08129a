// Plain chat completions: the short way to read them finds what the general readers find, or leaves a body to those.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainReply, plainRequest } from '../../../src/extproc/llm/apis/plain-chat.js'
import { readMarked } from '../../../src/extproc/llm/apis/replies.js'
import { readMembers } from '../../../src/extproc/llm/apis/requests.js'
import { familyOfRequest } from '../../../src/extproc/llm/detect-api.js'
import type { Entry } from '../../../src/extproc/llm/text/conversation.js'
import { sourceOf } from '../../../src/extproc/llm/text/found-text.js'
import type { JsonNode } from '../../../src/kit/json/json-node.js'
import { readJsonText } from '../../../src/kit/json/json-text.js'
import { asObject } from '../../../src/kit/json/members.js'
import { UnreadableForm } from '../../../src/kit/json/unreadable-form.js'
import { atOnce } from '../../../src/kit/turns.js'
import { runs } from '../../support/runs.js'

type Ways = readonly [short: readonly Entry[] | undefined, general: readonly Entry[] | 'refused']

const request = (body: unknown): Ways =>
  bothWays(body, plainRequest, (root, text) => {
    const members = asObject(root, 'the body')
    return atOnce(readMembers(members, familyOfRequest(members, ''), sourceOf(text)))
  })

const reply = (body: unknown): Ways =>
  bothWays(body, plainReply, (root, text) => {
    const members = asObject(root, 'the body')
    return atOnce(readMarked('choices', members, sourceOf(text)))[1]
  })

function bothWays(
  body: unknown,
  short: (root: JsonNode) => readonly Entry[] | undefined,
  general: (root: JsonNode, text: string) => readonly Entry[],
): Ways {
  const read = readJsonText(typeof body === 'string' ? body : JSON.stringify(body))
  if (!read.ok) throw new Error(read.error)
  const { root, text } = read.value
  try {
    return [short(root), general(root, text)]
  } catch (error) {
    if (error instanceof UnreadableForm) return [short(root), 'refused']
    throw error
  }
}

const MESSAGE = { role: 'assistant', content: 'Hello', refusal: null, annotations: [] }
const CHOICE = { index: 0, message: MESSAGE, logprobs: null, finish_reason: 'stop' }
const USAGE = {
  prompt_tokens: 1,
  completion_tokens: 2,
  total_tokens: 3,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
}
const REPLY = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [CHOICE],
  usage: USAGE,
  service_tier: 'default',
  system_fingerprint: 'fp_1',
}
const REQUEST = {
  model: 'm',
  temperature: 0.5,
  stream: false,
  user: 'u-1',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hi "there"\n' },
  ],
}

describe('what is read the short way', () => {
  test.each([
    ['a request', request(REQUEST), ['Be brief.', 'Hi "there"\n']],
    ['a reply', reply(REPLY), ['Hello']],
  ])('%s of texts and settings', (_name, [short, general], texts) => {
    expect(short?.map(({ content }) => content)).toEqual(texts)
    expect(short).toEqual(general)
  })
})

describe('what is left to the general readers', () => {
  test.each([
    ['a setting that is a text', { ...REQUEST, user: 'a sentence of words' }],
    ['another member', { ...REQUEST, metadata: {} }],
    ['a member of another API', { ...REQUEST, system: null }],
    ['a name spelt otherwise', { ...REQUEST, Model: 'm' }],
    ['a message with a name', { messages: [{ role: 'user', content: 'a', name: 'b' }] }],
    ['blocks', { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] }],
    ['a message without a role', { messages: [{ content: 'a' }] }],
    ['many messages', { messages: Array.from({ length: 65 }, () => MESSAGE) }],
    ['messages that are none', { messages: 'Hi' }],
  ])('a request with %s', (_name, body) => {
    expect(request(body)[0]).toBeUndefined()
  })

  test.each([
    [
      'a tool call',
      { ...REPLY, choices: [{ ...CHOICE, message: { ...MESSAGE, tool_calls: [{}] } }] },
    ],
    ['log probabilities', { ...REPLY, choices: [{ ...CHOICE, logprobs: { content: [] } }] }],
    ['a reason of words', { ...REPLY, choices: [{ ...CHOICE, finish_reason: 'I am done' }] }],
    ['no content', { ...REPLY, choices: [{ ...CHOICE, message: { ...MESSAGE, content: null } }] }],
    ['a text in its usage', { ...REPLY, usage: { ...USAGE, note: 'a b' } }],
    ['another member', { ...REPLY, note: 'a b' }],
    ['two marks', { ...REPLY, output: [] }],
  ])('a reply with %s', (_name, body) => {
    expect(reply(body)[0]).toBeUndefined()
  })
})

const word = fc.constantFrom(
  'user',
  'assistant',
  'tool',
  'stop',
  'm',
  'a b',
  '',
  '\u00e9',
  'data:,a',
)
const scalar = fc.oneof(word, fc.constantFrom(null, 1.5, true))
const NAMES = [
  'role',
  'content',
  'model',
  'user',
  'type',
  'name',
  'index',
  'message',
  'finish_reason',
  'logprobs',
  'refusal',
  'annotations',
  'tool_calls',
  'usage',
  'total_tokens',
  'id',
  'Role',
  'prompt_tokens_details',
  'messages',
  'choices',
  'input',
  'system',
  'tokens',
  'object',
  'a b',
  'function_call',
  'audio',
  'reasoning_content',
  'stream',
  'created',
  'text',
  'delta',
  'error',
]
const few = fc.dictionary(
  fc.constantFrom(...NAMES),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.constant({}), fc.constant({ a: 'b c' })),
  { maxKeys: 2, noNullPrototype: true },
)
/** An object with some members added, replaced or left out. */
const near = (object: object): fc.Arbitrary<object> =>
  fc
    .record({ more: fc.oneof(fc.constant({}), few), without: fc.option(fc.constantFrom(...NAMES)) })
    .map(({ more, without }) =>
      Object.fromEntries(
        Object.entries({ ...object, ...more }).filter(([name]) => name !== without),
      ),
    )
const listOf = (item: fc.Arbitrary<unknown>): fc.Arbitrary<readonly unknown[]> =>
  fc.array(item, { maxLength: 3 })

describe('any body', () => {
  const expectSame = ([short, general]: Ways): void => {
    if (short !== undefined) expect(short).toEqual(general)
  }

  test('near a plain request is read the same in both ways', () => {
    const message = near({ role: 'user', content: 'Hi' })
    const body = listOf(message).chain((messages) => near({ ...REQUEST, messages }))
    fc.assert(
      fc.property(body, (given) => expectSame(request(given))),
      { numRuns: runs(20_000) },
    )
  })

  test('near a plain reply is read the same in both ways', () => {
    const choice = near(MESSAGE).chain((message) => near({ ...CHOICE, message }))
    const body = fc
      .tuple(listOf(choice), near(USAGE))
      .chain(([choices, usage]) => near({ ...REPLY, choices, usage }))
    fc.assert(
      fc.property(body, (given) => expectSame(reply(given))),
      { numRuns: runs(20_000) },
    )
  })
})
