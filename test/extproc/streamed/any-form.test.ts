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
import { runs } from '../../support/runs.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'
import { choice, type Event, FORMS, type Moment } from './forms.js'
import { maskingPools } from './masking-pools.js'

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
  const pools = maskingPools(mask, shown)
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
