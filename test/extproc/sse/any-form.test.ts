// A text in events of any form: cut anywhere, in any member, under any type, index or id, beside others. The webhook is
// shown it whole, or the client does not get it; and what the webhook masks, no client puts together again.

import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../support/runs.js'
import { BEGUN, choice, type Event, FORMS, type Moment, OF_ONE_CHOICE } from './forms.js'
import { sendAll } from './send-all.js'

const SECRET = 'bob of swordfish lane 4111'

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

/** What tells the choices, items, blocks and messages of an event apart. */
const INDEXES = [
  'index',
  'output_index',
  'id',
  'item_id',
  'messageId',
  'toolCallId',
  'tool_call_id',
]

/** Returns the indexes and ids of an object of an event. */
const indexesOf = (object: object): string =>
  Object.entries(object)
    .filter(([name]) => INDEXES.includes(name))
    .map(([, value]) => String(value))
    .join()

/** The strings of events by place, in the order of arrival: a client may put them together, whatever indexes they have. */
const textsByPlace = (stream: string): readonly string[] => [
  ...textsBy(stream, () => ''),
  ...textsBy(stream, indexesOf),
]

function textsBy(stream: string, indexes: (object: object) => string): readonly string[] {
  const texts = new Map<string, string>()
  const collect = (value: unknown, place: string): void => {
    if (typeof value === 'string') texts.set(place, (texts.get(place) ?? '') + value)
    else if (Array.isArray(value)) value.forEach((item) => collect(item, place))
    else if (typeof value === 'object' && value !== null)
      for (const [name, inner] of Object.entries(value))
        collect(inner, `${place}${indexes(value)}.${name}`)
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

describe.each(Object.entries({ ...FORMS, ...OF_ONE_CHOICE }))('%s', (name, eventOf) => {
  // Where any number of choices may have been asked for, an index that comes again is that of its choice.
  test.each([
    ['one choice asked for', true],
    ['nobody knows how many', false],
  ])('%s', async (_asked, isOneChoice) => {
    await fc.assert(
      fc.asyncProperty(anyPieces, anyMoments, anyOther, async (pieces, moments, other) => {
        fc.pre(isOneChoice || moments.indexes !== 'any' || name in OF_ONE_CHOICE)
        const events = pieces.map((piece, at) =>
          JSON.stringify({ ...(eventOf(piece, momentOf(moments, at)) as object), ...other }),
        )
        await expectSeen(events, isOneChoice)
      }),
      { numRuns: runs(40) },
    )
  })
})

/** Forms whose texts are one, whatever index or id their events have. */
const BY_PLACE_ALONE = new Set([
  'another event of a response',
  'plan of a message of Cohere',
  'data of the AI SDK',
  'chunk of a message of AG-UI',
  'result of a tool of AG-UI',
  'chunk of a call of AG-UI',
  'an event of any type',
])

const BY_OTHERS = Object.entries(FORMS).filter(([name]) => !BY_PLACE_ALONE.has(name))

describe.each(BY_OTHERS)('%s', (_name, eventOf) => {
  test.each([true, false])(
    'while another index speaks, one choice asked for: %s',
    async (isOne) => {
      await fc.assert(
        fc.asyncProperty(anyPieces, async (pieces) => {
          const events = pieces.flatMap((piece, at) =>
            [piece, 'word '].map((text, index) =>
              JSON.stringify(
                eventOf(text, { at, index, type: 'x-delta', id: `id_${String(index)}` }),
              ),
            ),
          )
          await expectSeen(events, isOne)
        }),
        { numRuns: runs(20) },
      )
    },
  )
})

describe.each(Object.entries(BEGUN))('%s', (_name, [begin, eventOf]) => {
  test('that go on in turns', async () => {
    const begun = Array.from({ length: 5 }, (_, index) =>
      JSON.stringify(begin('', { at: index, index, type: '', id: `id_${String(index)}` })),
    )
    await fc.assert(
      fc.asyncProperty(anyPieces, anyMoments, async (pieces, moments) => {
        const events = pieces.map((piece, at) =>
          JSON.stringify(eventOf(piece, momentOf({ ...moments, indexes: 'any' }, at))),
        )
        await expectSeen([...begun, ...events], false)
      }),
      { numRuns: runs(40) },
    )
  })
})

/** A piece of a call of a choice. */
const ofCall = (of: number, index: number, piece: string, more = {}): object =>
  choice({
    choices: [
      {
        index: of,
        delta: {
          tool_calls: [
            piece === ''
              ? {
                  index,
                  id: `c_${String(of)}_${String(index)}`,
                  function: { name: 'find', ...more },
                }
              : { index, function: { arguments: piece } },
          ],
        },
      },
    ],
  })

/** A piece of a list of a choice. */
const ofList = (of: number, index: number, piece: string): object =>
  choice({
    choices: [
      {
        index: of,
        delta: {
          x_list: Array.from({ length: index + 1 }, (_, at) => ({
            x_said: at === index ? piece : '',
          })),
        },
      },
    ],
  })

/** A part of an item, or its beginning. */
const ofItem = (of: number, index: number, piece: string): object => ({
  ...(piece === ''
    ? { type: 'response.content_part.added', part: { type: 'output_text', text: '' } }
    : { type: 'response.output_text.delta', delta: piece }),
  item_id: `i_${String(of)}`,
  output_index: of,
  content_index: index,
})

describe('texts of a choice or item go on while another one speaks', () => {
  const said: readonly (readonly [number, number, string])[] = [
    ...[0, 1].flatMap((of) => [0, 1].map((index) => [of, index, ''] as const)),
    [0, 0, 'sword'],
    [1, 0, 'word '],
    [0, 1, 'fish'],
  ]
  test.each([
    ['calls', (...said: Parameters<typeof ofItem>) => ofCall(...said, { arguments: '' })],
    ['texts of a list', ofList],
    ['parts of an item', ofItem],
  ])('%s', async (_name, eventOf) => {
    const events = said.map((part) => JSON.stringify(eventOf(...part)))
    const { shown, refused } = await sendAll(events, false, (text) => text)
    expect(refused).toEqual([])
    expect(shown).toContainEqual(expect.stringContaining('swordfish'))
  })

  test('those of a choice that speaks often, among many', async () => {
    const events = Array.from({ length: 200 }, (_, at) => [
      ofList(at + 1, 0, 'a '),
      ...(at % 50 === 0 ? [ofList(0, 0, 'b '), ofList(0, 1, 'c ')] : []),
    ]).flat()
    const last = [ofList(0, 0, 'sword'), ofList(1, 0, 'word '), ofList(0, 1, 'fish')]
    const all = [...events, ...last].map((event) => JSON.stringify(event))
    const { shown } = await sendAll(all, false, (text) => text)
    expect(shown).toContainEqual(expect.stringContaining('swordfish'))
  })
})

/** Forms of events: the one that begins a text under an index, if any, and those with its pieces. */
const BY_INDEX: Readonly<
  Record<string, readonly [boolean, (index: number, piece: string) => object]>
> = {
  'calls without arguments at first': [true, (index, piece) => ofCall(0, index, piece)],
  'calls of several choices': [false, (index, piece) => ofCall(index, 0, piece)],
  'blocks without a text at first': [
    false,
    (index, text) =>
      text === ''
        ? { type: 'content_block_start', index, content_block: { type: 'text' } }
        : { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  ],
  'items without a part': [
    false,
    (index, delta) => ({
      type: 'response.output_text.delta',
      item_id: `i_${String(index)}`,
      delta,
      output_index: index,
      content_index: 0,
    }),
  ],
  'choices that nobody asked for': [
    true,
    (index, content) => choice({ choices: [{ index, delta: { content } }] }),
  ],
  'messages of choices that nobody asked for': [
    true,
    (index, content) => choice({ choices: [{ index, message: { content } }] }),
  ],
  'other texts of choices that nobody asked for': [
    true,
    (index, said) => choice({ choices: [{ index, delta: {}, x_more: { said } }] }),
  ],
  'candidates that nobody asked for': [
    true,
    (index, text) => ({ candidates: [{ index, content: { role: 'model', parts: [{ text }] } }] }),
  ],
}

describe('texts that clients put together by index', () => {
  test.each(Object.entries(BY_INDEX))('%s', async (_name, [isOneChoice, eventOf]) => {
    const said = ['', '', '{"q":"sw', '{"a":"', 'ord', 'word ', 'fi', 'sh"}', 'b"}']
    const turns = [0, 1, 0, 1, 0, 1, 0, 0, 1]
    const events = said.map((piece, at) => JSON.stringify(eventOf(turns[at] ?? 0, piece)))
    const { shown, refused } = await sendAll(events, isOneChoice, (text) => text)
    expect(refused).toEqual([])
    expect(shown).toContainEqual(expect.stringContaining('swordfish'))
  })
})

test('any member of any object', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyPieces,
      anyMoments,
      anyOther,
      anyMember,
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
