// Any events, of sizes around the slice limits, cut anywhere, compressed or not: the output equals that of reading
// everything at once, and nothing of or after an event over a limit leaves.

import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { gzipDecoder } from '../../../src/extproc/encodings/decode-reply.js'
import { identity } from '../../../src/extproc/encodings/decoder.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { eventStream, jsonArray } from '../../../src/extproc/sse/framing.js'
import { createStreamedReply } from '../../../src/extproc/sse/streamed-reply.js'
import { createHeldReply } from '../../../src/extproc/sse/windows/held-reply.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { atOnce, Pace } from '../../../src/kit/turns.js'
import { runs } from '../../support/runs.js'
import { EVENTS } from '../llm/recorded.js'
import { ended, pushed, readEvent } from '../llm/support.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'
import { maskingPools } from './masking-pools.js'

const MB = 1024 * 1024
const mask = (text: string): string => text.replaceAll('secret', '******')

const pools = maskingPools(mask)

interface Came {
  readonly sent: string
  readonly refused: readonly string[]
  readonly held: number
}

interface Sending {
  readonly isArray: boolean
  readonly isCompressed: boolean
  /** Where the bytes are cut, as parts of the whole. */
  readonly cuts: readonly number[]
}

async function sendAll(stream: string, { isArray, isCompressed, cuts }: Sending): Promise<Came> {
  let sent = ''
  const refused: string[] = []
  const heldBytes = createHeldBytes(Infinity)
  const framing = (isArray ? jsonArray : eventStream)(4 * MB)
  const reply = createStreamedReply(
    {
      guard: compileGuard(
        guardEntry('k', { response: [webhook(1, { minIntervalMs: 0, inspectToolCalls: true })] }),
      ),
      attributes: {},
      isOneChoice: false,
      decoder: isCompressed ? gzipDecoder({ maxBytes: 4 * MB }) : identity,
      reader: framing.reader,
      signal: new AbortController().signal,
    },
    { send: (text) => (sent += text), refuse: ({ error }) => refused.push(error.code) },
    {
      ...guardrails(pools),
      maxBodyBytes: 4 * MB,
      heldBytes,
      now: () => 0,
      logger: silent,
    },
  )
  const bytes = isCompressed ? gzipSync(stream) : Buffer.from(stream)
  const ends = cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b)
  let from = 0
  for (const to of [...ends, bytes.length]) {
    await reply.push(bytes.subarray(from, to))
    from = to
  }
  await reply.end()
  return { sent, refused, held: heldBytes.held() }
}

/** The same, read at once, with windows as large as they can be. */
function atOnceOf(stream: string, isArray: boolean): string {
  const held = createHeldReply({
    shows: new Set(['text', 'tool-call']),
    holdBack: 256,
    maxSize: 4 * MB,
  })
  const { reader } = (isArray ? jsonArray : eventStream)(4 * MB)
  for (const frames of [pushed(reader, Buffer.from(stream)), ended(reader)]) {
    if (!frames.ok) throw new Error(frames.error)
    for (const frame of frames.value) {
      const event = frame.data === undefined ? undefined : readEvent(frame.data)
      if (event?.ok === false) throw new Error(event.error)
      atOnce(held.add(frame, event?.value, new Pace()))
    }
  }
  held.end()
  let left = ''
  while (!held.isEmpty()) {
    for (const channel of held.channels()) {
      const window = channel.text.take()
      const others = channel.text.others.map(mask)
      if (window !== undefined) atOnce(channel.answered({ content: mask(window), others }))
    }
    atOnce(held.leave((text) => (left += text)))
  }
  return left
}

const WORDS = [
  'secret ',
  'wörds 😀 alone, ',
  'wörds 😀 and a secret, ',
  'a "quoted"\n secret\u2028 ',
]

/** Lengths around those of pieces and slices. */
const anyLength = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc
    .tuple(
      fc.constantFrom(4096, 16 * 1024, 64 * 1024, 128 * 1024, MB),
      fc.integer({ min: -9, max: 9 }),
    )
    .map(([length, more]) => length + more),
)

const anyText = fc.tuple(fc.constantFrom(...WORDS), anyLength).map(([words, length]) =>
  words
    .repeat(Math.ceil(length / words.length))
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, ''),
)

const ofGemini = Object.entries(EVENTS).filter(([, event]) => 'candidates' in event)
/** Removes log probabilities: which of them are emptied near a change depends on the windows. */
const withoutLogprobs = (name: string, value: unknown): unknown =>
  name.startsWith('logprobs') ? undefined : value

const anyEventOf = (events: readonly (readonly [string, object])[]) =>
  fc
    .tuple(fc.constantFrom(...events), anyText)
    .map(([[, event], text]) =>
      JSON.stringify(event, withoutLogprobs).replace('"Hello"', () => JSON.stringify(text)),
    )

const anySending = fc.record({
  isCompressed: fc.boolean(),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
})

const sse = (events: readonly string[]): string =>
  events.map((data, index) => `${index % 3 === 0 ? ': ping\n\n' : ''}data: ${data}\n\n`).join('')
const array = (events: readonly string[]): string => `[${events.join(',\n')}]`

interface Said {
  readonly channel: string
  readonly text: string
}

/** What is said in each channel, and repeats it, in the order of arrival. */
function saidIn(stream: string, isArray: boolean): readonly Said[] {
  const { reader } = (isArray ? jsonArray : eventStream)(4 * MB)
  const said: Said[] = []
  const say = (channel: string, text: string): void => void said.push({ channel, text })
  for (const frames of [pushed(reader, Buffer.from(stream)), ended(reader)]) {
    if (!frames.ok) throw new Error(frames.error)
    for (const { data } of frames.value) {
      const event = data === undefined ? undefined : readEvent(data)
      if (event?.ok !== true) continue
      for (const { channel, text } of event.value.pieces) say(channel, text)
      for (const { channel, text } of event.value.repeats) say(`${channel} repeated`, text)
    }
  }
  return said
}

function textsOf(said: readonly Said[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const { channel, text } of said) texts.set(channel, (texts.get(channel) ?? '') + text)
  return texts
}

/** Characters that are escaped in a changed text; an unchanged text is written as received. */
const escaped = (stream: string): string =>
  stream.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')

/**
 * Compares two streams; undefined: they have the same content. In a repetitive text, no 16 characters before and after
 * a mask can be identified with certainty, so the positions of the windows decide which piece of the text contains a
 * change. All pieces together are equal nevertheless. So are those of several channels of which one continues another.
 */
function differenceOf(one: string, other: string, isArray: boolean): string | undefined {
  if (one === other) return undefined
  if (!other.includes('******')) return 'bytes changed, though nothing was masked'
  const [length, otherLength] = [escaped(one).length, escaped(other).length]
  if (length !== otherLength) return `lengths ${String(length)} and ${String(otherLength)}`
  const [said, otherSaid] = [saidIn(one, isArray), saidIn(other, isArray)]
  const [texts, otherTexts] = [textsOf(said), textsOf(otherSaid)]
  const channels = [...new Set([...texts.keys(), ...otherTexts.keys()])]
  const differing = channels.filter((channel) => texts.get(channel) !== otherTexts.get(channel))
  const all = (parts: readonly Said[]): string =>
    parts.flatMap(({ channel, text }) => (differing.includes(channel) ? [text] : [])).join('')
  return all(said) === all(otherSaid) ? undefined : differing[0]
}

// A change at a seam of two channels that are one text.
const SEAM = [
  { type: 'message.output.delta', output_index: 0, content: `${'secret '.repeat(24)}sec` },
  {
    type: 'response.output_text.delta',
    item_id: 'msg_1',
    output_index: 1,
    sequence_number: 9,
    content_index: 0,
    delta: 'secret '.repeat(41).trim(),
  },
]

// Streams of megabytes, on a machine that may be busy.
const TIMEOUT_MS = 120_000

test(
  'events of every API',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEventOf(Object.entries(EVENTS)), { minLength: 1, maxLength: 6 }),
        anySending,
        async (events, sending) => {
          const stream = sse(events)
          const { sent, refused, held } = await sendAll(stream, { ...sending, isArray: false })
          const difference = differenceOf(sent, atOnceOf(stream, false), false)
          expect([difference, refused, held]).toEqual([undefined, [], 0])
          expect(sent).not.toContain('secret')
        },
      ),
      {
        numRuns: runs(30),
        examples: [[SEAM.map((event) => JSON.stringify(event)), { isCompressed: false, cuts: [] }]],
      },
    )
  },
  TIMEOUT_MS,
)

test(
  'items of arrays',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEventOf(ofGemini), { minLength: 1, maxLength: 5 }),
        anySending,
        async (events, sending) => {
          const stream = array(events)
          const { sent, refused, held } = await sendAll(stream, { ...sending, isArray: true })
          const difference = differenceOf(sent, atOnceOf(stream, true), true)
          expect([difference, refused, held]).toEqual([undefined, [], 0])
          expect(sent).not.toContain('secret')
        },
      ),
      { numRuns: runs(15) },
    )
  },
  TIMEOUT_MS,
)

const BEYOND = [
  `{"choices":[],"x":[${'{},'.repeat(60_000)}{}]}`,
  `{"choices":[],"x":${'['.repeat(101)}${']'.repeat(101)}}`,
  `{"choices":[],"x":"${'a'.repeat(4 * MB)}"}`,
  '{"choices":[],"choices":[]}',
  '{"choices":',
]

test(
  'an event beyond a bound',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEventOf(Object.entries(EVENTS)), { maxLength: 3 }),
        fc.constantFrom(...BEYOND),
        anySending,
        async (events, beyond, sending) => {
          const before = sse(events)
          const stream = `${before}data: ${beyond}\n\ndata: {"choices":[]}\n\n`
          const { sent, refused, held } = await sendAll(stream, { ...sending, isArray: false })
          expect(sent).not.toContain('secret')
          expect([refused, held]).toEqual([['guardrail_unreadable'], 0])
          expect(sent.length).toBeLessThanOrEqual(atOnceOf(before, false).length)
        },
      ),
      { numRuns: runs(50) },
    )
  },
  TIMEOUT_MS,
)
