// A text in events of any form: cut anywhere, in any member, under any type, index or id, beside others. The webhook is
// shown it whole, or the client does not get it; and what the webhook masks, no client puts together again.

import { setImmediate as nextTurn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { identity } from '../../../src/extproc/encodings/decoder.js'
import { createHeldBytes } from '../../../src/extproc/stream/held-bytes.js'
import { eventStream } from '../../../src/extproc/streamed/framing.js'
import { createStreamedReply } from '../../../src/extproc/streamed/streamed-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import type { WebhookPools } from '../../../src/remote/webhook-pools.js'
import { ok } from '../../../src/result.js'
import { runs } from '../../support/runs.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const MB = 1024 * 1024
const SECRET = 'bob of swordfish lane 4111'

interface Came {
  readonly sent: string
  readonly refused: readonly string[]
  /** All that the webhook was shown. */
  readonly shown: readonly string[]
}

/** mask: what the webhook makes of a text. */
async function sendAll(
  events: readonly string[],
  isOneChoice: boolean,
  mask: (text: string) => string,
): Promise<Came> {
  let sent = ''
  const refused: string[] = []
  const shown: string[] = []
  const pools: WebhookPools = {
    call: async ({ body }) => {
      const { choices } = (
        JSON.parse(Buffer.from(body).toString()) as {
          body: { choices: { message: { role: string; content: string } }[] }
        }
      ).body
      for (const { message } of choices) shown.push(message.content)
      const masked = choices.map(({ message: { role, content } }) => ({
        message: { role, content: mask(content) },
      }))
      await nextTurn()
      const answer = Buffer.from(JSON.stringify({ action: { body: { choices: masked } } }))
      return ok({ status: 200, headers: {}, body: [answer] } as never)
    },
    close: () => Promise.resolve(),
  }
  const reply = createStreamedReply(
    {
      guard: compileGuard(
        guardEntry('k', {
          response: [webhook(1, { minIntervalMs: 0, holdBack: 64, inspectToolCalls: true })],
        }),
      ),
      attributes: {},
      isOneChoice,
      decoder: identity,
      reader: eventStream(4 * MB).reader,
      signal: new AbortController().signal,
    },
    { send: (text) => (sent += text), refuse: ({ error }) => refused.push(error.code) },
    {
      ...guardrails(pools),
      maxBodyBytes: 4 * MB,
      heldBytes: createHeldBytes(Infinity),
      now: () => 0,
      logger: silent,
    },
  )
  for (const event of events) {
    await reply.push(Buffer.from(`data: ${event}\n\n`))
    await nextTurn()
  }
  await reply.end()
  return { sent, refused, shown }
}

/** A text with the secret in it, cut anywhere. */
const anyPieces = fc
  .tuple(
    fc.constantFrom('', 'Hello, ', 'The words of today are these: '),
    fc.constantFrom('', ' and more', '. That was all that there is to say about it, dear reader.'),
    fc.array(fc.nat({ max: 120 }), { minLength: 1, maxLength: 6 }),
  )
  .map(([before, after, cuts]) => {
    const text = before + SECRET + after
    // One cut at least is within the secret.
    const within = before.length + 1 + ((cuts[0] ?? 0) % (SECRET.length - 1))
    const ends = [within, ...cuts.slice(1).map((cut) => cut % text.length), text.length]
    const sorted = [...new Set(ends)].sort((a, b) => a - b)
    return sorted.map((end, index) => text.slice(sorted[index - 1] ?? 0, end))
  })

/** at: the number of the event. */
interface Moment {
  readonly at: number
  readonly index: number
  readonly type: string
  readonly id: string
}

type Event = (piece: string, moment: Moment) => unknown

/** A member of no API: nested in objects and lists. */
const anyMember = fc
  .array(fc.constantFrom('x_say', 'x_part', 'x_inner', 'xText', 'x_words'), {
    minLength: 1,
    maxLength: 3,
  })
  .chain((names) =>
    fc.array(fc.boolean(), { minLength: names.length, maxLength: names.length }).map(
      (lists) => (piece: string, index: number) =>
        names.reduceRight<unknown>((inner, name, depth) => {
          const items = Array.from({ length: index % 3 }, (): unknown => null)
          return { [name]: lists[depth] === true ? [...items, inner] : inner }
        }, piece),
    ),
  )

const choice = (more: object): object => ({ object: 'chat.completion.chunk', ...more })

/** The forms of events, each with a member that has the piece. */
const FORMS: Readonly<Record<string, Event>> = {
  'content of a choice': (piece, { index }) =>
    choice({ choices: [{ index, delta: { content: piece } }] }),
  'message of a choice': (piece, { index }) =>
    choice({ choices: [{ index, message: { role: 'assistant', content: piece } }] }),
  'delta and message of a choice': (piece, { index }) =>
    choice({ choices: [{ index, delta: { content: piece }, message: { content: piece } }] }),
  'message of a choice, now and then beside a delta': (piece, { index, at }) =>
    choice({
      choices: [
        {
          index,
          ...(at % 2 === 0 && { delta: { content: piece } }),
          message: { content: piece },
        },
      ],
    }),
  'messages of a choice': (piece, { index }) =>
    choice({ choices: [{ index, messages: [{ delta: { content: piece } }] }] }),
  'a text beside the delta': (piece, { index }) =>
    choice({ choices: [{ index, delta: {}, x_more: { said: piece } }] }),
  'a text of the delta': (piece, { index }) =>
    choice({ choices: [{ index, delta: { x_said: piece } }] }),
  'reasoning of a choice': (piece, { index }) =>
    choice({ choices: [{ index, delta: { reasoning_content: piece } }] }),
  'a text beside the choices': (piece) => choice({ choices: [], x_said: piece }),
  'arguments of a call': (piece, { index }) =>
    choice({
      choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: piece } }] } }],
    }),
  'text of a completion': (piece, { index }) => ({
    object: 'text_completion',
    choices: [{ index, text: piece }],
  }),
  'delta of a block': (piece, { index }) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'text_delta', text: piece },
  }),
  'another delta of a block': (piece, { index }) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'of_tomorrow', x_said: piece },
  }),
  'citation of a block': (piece, { index }) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'citations_delta', citation: { cited_text: piece } },
  }),
  'a text beside a message': (piece) => ({
    type: 'message_delta',
    delta: { stop_reason: null, x_said: piece },
  }),
  'delta of a response': (piece, { index, id }) => ({
    type: 'response.output_text.delta',
    item_id: id,
    output_index: index,
    content_index: 0,
    delta: piece,
  }),
  'done of a response': (piece, { index, id }) => ({
    type: 'response.output_text.done',
    item_id: id,
    output_index: index,
    content_index: 0,
    text: piece,
  }),
  'another delta of a response': (piece, { index, id }) => ({
    type: 'response.of_tomorrow.delta',
    item_id: id,
    output_index: index,
    delta: piece,
  }),
  'another event of a response': (piece, { index, id }) => ({
    type: 'response.of_tomorrow.done',
    item_id: id,
    output_index: index,
    x_said: piece,
  }),
  'item of a response': (piece, { index, id }) => ({
    type: 'response.output_item.done',
    output_index: index,
    item: { id, type: 'of_tomorrow', x_said: piece },
  }),
  'part of a candidate': (piece, { index }) => ({
    candidates: [{ index, content: { role: 'model', parts: [{ text: piece }] } }],
  }),
  'another part of a candidate': (piece, { index }) => ({
    candidates: [{ index, content: { parts: [{ x_said: piece }] } }],
  }),
  'a text beside a candidate': (piece, { index }) => ({ candidates: [{ index, x_said: piece }] }),
  'content of a message of Cohere': (piece, { index }) => ({
    type: 'content-delta',
    index,
    delta: { message: { content: { text: piece } } },
  }),
  'plan of a message of Cohere': (piece, { index }) => ({
    type: 'tool-plan-delta',
    index,
    delta: { message: { tool_plan: piece } },
  }),
  'citation of a message of Cohere': (piece, { index }) => ({
    type: 'citation-start',
    index,
    delta: { message: { citations: { start: 1, end: 2, text: piece } } },
  }),
  'text of the AI SDK': (piece, { id }) => ({ type: 'text-delta', id, delta: piece }),
  'reasoning of the AI SDK': (piece, { id }) => ({ type: 'reasoning-delta', id, delta: piece }),
  'data of the AI SDK': (piece, { id }) => ({ type: 'data-x', id, data: { said: piece } }),
  'input of a tool of the AI SDK': (piece, { id }) => ({
    type: 'tool-input-delta',
    toolCallId: id,
    inputTextDelta: piece,
  }),
  'message of AG-UI': (piece, { id }) => ({
    type: 'TEXT_MESSAGE_CONTENT',
    messageId: id,
    delta: piece,
  }),
  'chunk of a message of AG-UI': (piece, { id }) => ({
    type: 'TEXT_MESSAGE_CHUNK',
    messageId: id,
    delta: piece,
  }),
  'result of a tool of AG-UI': (piece, { id }) => ({
    type: 'TOOL_CALL_RESULT',
    messageId: id,
    toolCallId: id,
    content: piece,
  }),
  'message of a conversation': (piece, { index, id }) => ({
    type: 'message.output.delta',
    id,
    output_index: index,
    content: piece,
  }),
  'content of an interaction': (piece, { index }) => ({
    event_type: 'content.delta',
    index,
    delta: { type: 'text', text: piece },
  }),
  'message of a thread': (piece, { index, id }) => ({
    id,
    object: 'thread.message.delta',
    delta: { content: [{ index, type: 'text', text: { value: piece } }] },
  }),
  'message of Ollama': (piece) => ({ message: { role: 'assistant', content: piece }, done: false }),
  'thoughts of Ollama': (piece) => ({ response: '', thinking: piece, done: false }),
  'an event of any type': (piece, { type, index, id }) => ({
    type,
    index,
    id,
    delta: { message: { content: { text: piece } } },
  }),
  'an event of no type': (piece) => ({ message: { content: piece }, done: false }),
  'an error': (piece) => ({ type: 'error', error: { type: 'api_error', message: piece } }),
}

/** What else an event has. */
const anyOther = fc.constantFrom<object>(
  {},
  { x_note: 'the same in each event' },
  { x_list: ['a few', 'more texts'], x_number: 4 },
  { usage: { total_tokens: 3 } },
)

const anyMoments = fc.record({
  /** Whether indexes grow, or the first of each is any of a few. */
  indexes: fc.constantFrom<'one' | 'growing' | 'any'>('one', 'growing', 'any'),
  types: fc.array(fc.constantFrom('x-content-delta', 'x-delta', 'chunk-1', 'of.tomorrow'), {
    minLength: 1,
    maxLength: 3,
  }),
  numbers: fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 5 }),
})

function momentOf(
  { indexes, types, numbers }: { indexes: string; types: string[]; numbers: number[] },
  at: number,
): Moment {
  const any = numbers[at % numbers.length] ?? 0
  return {
    at,
    index: indexes === 'one' ? 0 : indexes === 'growing' ? at : any,
    type: types[at % types.length] ?? '',
    id: `id_${String(any)}`,
  }
}

/** The strings of events by place, in the order of arrival. A client may put them together. */
function textsByPlace(stream: string): readonly string[] {
  const texts = new Map<string, string>()
  const collect = (value: unknown, place: string): void => {
    if (typeof value === 'string') texts.set(place, (texts.get(place) ?? '') + value)
    else if (Array.isArray(value)) value.forEach((item) => collect(item, place))
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value)) collect(inner, `${place}.${name}`)
  }
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*)$/gm)) collect(JSON.parse(data), '')
  return [...texts.values()]
}

const isIn = (texts: readonly string[]): boolean => texts.some((text) => text.includes(SECRET))

async function expectSeen(events: readonly string[], isOneChoice: boolean): Promise<void> {
  const { sent, shown } = await sendAll(events, isOneChoice, (text) => text)
  if (isIn(textsByPlace(sent)))
    expect(isIn(shown), `${events.join('\n')} shown ${JSON.stringify(shown)}`).toBe(true)
  const masked = await sendAll(events, isOneChoice, (text) => text.replaceAll(SECRET, '****'))
  expect(isIn(textsByPlace(masked.sent)), `${events.join('\n')} sent ${masked.sent}`).toBe(false)
}

describe.each(Object.entries(FORMS))('%s', (_name, eventOf) => {
  // Where any number of choices may have been asked for, an index that comes again is that of its choice.
  test.each([
    ['one choice asked for', true],
    ['nobody knows how many', false],
  ])('%s', async (_asked, isOneChoice) => {
    await fc.assert(
      fc.asyncProperty(anyPieces, anyMoments, anyOther, async (pieces, moments, other) => {
        fc.pre(isOneChoice || moments.indexes !== 'any')
        const events = pieces.map((piece, at) =>
          JSON.stringify({ ...(eventOf(piece, momentOf(moments, at)) as object), ...other }),
        )
        await expectSeen(events, isOneChoice)
      }),
      { numRuns: runs(40) },
    )
  })
})

test('any member of any object', async () => {
  await fc.assert(
    fc.asyncProperty(
      ...[anyPieces, anyMoments, anyOther, anyMember],
      fc.constantFrom<Event>(
        () => ({}),
        (_piece, { type, index, id }) => ({ type, index, id }),
        (_piece, { index }) => choice({ choices: [{ index, delta: { content: 'word ' } }] }),
        (_piece, { index }) => ({ type: 'content_block_stop', index }),
        (_piece, { index }) => ({ candidates: [{ index, content: { parts: [] } }] }),
      ),
      async (pieces, moments, other, member, around) => {
        const events = pieces.map((piece, at) => {
          const moment = momentOf(moments, at)
          const holder = around(piece, moment) as object
          return JSON.stringify({ ...holder, ...other, ...(member(piece, moment.index) as object) })
        })
        await expectSeen(events, true)
      },
    ),
    { numRuns: runs(200) },
  )
})

describe('a member with texts at many places', () => {
  const many = (said: string, count = 9): string =>
    JSON.stringify({
      type: 'of_tomorrow',
      x_all: {
        said,
        ...Object.fromEntries(
          Array.from({ length: count }, (_, at) => [`x_${'abcdefghi'[at]}`, 'a']),
        ),
      },
    })

  test('is shown as JSON once, if it says nothing else', async () => {
    const { refused, shown } = await sendAll([many('word'), many('word')], true, (text) => text)
    expect([refused, shown.map((text) => JSON.parse(text) as object)]).toEqual([
      [],
      [(JSON.parse(many('word')) as { x_all: object }).x_all],
    ])
  })

  test.each([
    ['with another text in it', [many('sword'), many('fish')]],
    ['after one with few', [many('sword', 1), many('fish')]],
    ['before one with few', [many('sword'), many('fish', 1)]],
  ])('%s, it ends the stream', async (_name, events) => {
    const { refused, sent } = await sendAll(events, true, (text) => text)
    expect(refused).toEqual(['guardrail_unreadable'])
    expect(sent).not.toContain('fish')
  })
})
