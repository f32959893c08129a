// A text in windows: however it arrives and whatever is masked, the output equals the mask of the whole text.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createHeldChannel,
  type HeldChannel,
} from '../../../../src/extproc/sse/windows/held-channel.js'
import type { WindowAnswer } from '../../../../src/extproc/sse/windows/held-text.js'
import { MOST_HELD } from '../../../../src/extproc/sse/windows/windowed-text.js'
import { runs } from '../../../support/runs.js'
import { anyMasked, applyMask, denselyMasked, type Masked, whollyMasked } from './masks.js'

/** The next step: characters arrive, the webhook answers, or it is asked although a word may continue. */
type Step = number | 'answer' | 'time'

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3000 }) },
  { weight: 3, arbitrary: fc.constant('answer' as const) },
  { weight: 1, arbitrary: fc.constant('time' as const) },
)
const steps = fc
  .array(step, { minLength: 1, maxLength: 30 })
  .filter((all) => all.some((one) => typeof one === 'number'))

interface Left {
  readonly text: string
  /** The most characters that were seen and still held. */
  readonly mostHeld: number
  /** Characters of all windows together. */
  readonly shown: number
  readonly isStuck: boolean
}

const channelOf = (holdBack: number): HeldChannel =>
  createHeldChannel(
    { kind: 'text', role: 'assistant', form: 'string' },
    { holdBack, shown: 'windows', mayKeep: () => false },
  )

/** Runs all slices. */
function settle(channel: HeldChannel, answer: WindowAnswer): void {
  for (const slice of channel.answered(answer)) expect(slice).toBeUndefined()
}

interface Settings {
  readonly holdBack?: number
  /** Characters that the webhook still needs. */
  readonly needed?: number
}

/** Plays the webhook and the model, and checks at each step that nothing unseen leaves. */
function leaves(
  text: string,
  webhook: (window: string) => string,
  all: readonly Step[],
  { holdBack = 256, needed }: Settings = {},
): Left {
  const channel = channelOf(holdBack)
  const parts: string[] = []
  let [at, first, seen, mostHeld, out, shown] = [0, 0, 0, 0, '', 0]
  let asked: string | undefined
  const ask = (): void => {
    const window = channel.text.take()
    if (window === undefined) return
    asked = window
    shown += window.length
    const end = channel.text.length - channel.text.unseen
    expect(text.slice(0, end).includes(window)).toBe(true)
  }
  const leave = (): void => {
    for (let part = parts[0]; part !== undefined; part = parts[0]) {
      if (!channel.isFree(first + part.length)) break
      out += channel.leave(first, part)
      first += part.length
      expect(first).toBeLessThanOrEqual(seen)
      parts.shift()
    }
  }
  const answer = (): void => {
    if (asked === undefined) return
    seen = channel.text.length - channel.text.unseen
    const content = webhook(asked)
    asked = undefined
    settle(channel, { content, needed })
    leave()
    mostHeld = Math.max(mostHeld, seen - first)
    if (channel.text.due() === 'at-once') ask()
  }
  const result = (isStuck: boolean): Left => ({ text: out, mostHeld, shown, isStuck })
  for (let turn = 0; at < text.length; turn += 1) {
    if (channel.text.isStuck) return result(true)
    const next = all[turn % all.length] ?? 1
    if (next === 'answer') answer()
    else if (next === 'time' && channel.text.due() !== 'no') ask()
    else if (typeof next === 'number') {
      parts.push(text.slice(at, at + next))
      channel.push(text.slice(at, at + next))
      at += next
      if (['yes', 'at-once'].includes(channel.text.due())) ask()
    }
  }
  seen = channel.text.length - channel.text.unseen
  channel.end()
  leave()
  ask()
  while (asked !== undefined) answer()
  if (channel.text.isStuck) return result(true)
  expect([first, channel.isDone()]).toEqual([text.length, true])
  return result(false)
}

const masksOf =
  ({ mask }: Masked) =>
  (window: string) =>
    applyMask(window, mask)

const FAST: readonly Step[] = [10, 'time', 'answer']

test('any masks of up to 256 characters', () => {
  fc.assert(
    fc.property(anyMasked(1500), steps, (masked, all) => {
      const { text } = leaves(masked.text, masksOf(masked), all)
      expect(text).toBe(applyMask(masked.text, masked.mask))
    }),
    { numRuns: runs(200) },
  )
})

test('any masks of up to the hold-back, if it is 64 characters or more', () => {
  const anyHoldBack = fc.constantFrom(64, 100, 1000, 4096)
  fc.assert(
    fc.property(
      anyHoldBack.chain((most) => fc.tuple(fc.constant(most), anyMasked(700, most))),
      steps,
      ([holdBack, masked], all) => {
        const { text } = leaves(masked.text, masksOf(masked), all, { holdBack })
        expect(text).toBe(applyMask(masked.text, masked.mask))
      },
    ),
    { numRuns: runs(200) },
  )
})

// With a short hold-back, a text that repeats itself and answers of other lengths can be aligned in more than one way.
const NUMBERED = Array.from({ length: 900 }, (_, at) => `word${at}`).join(' ')

/** Hides what is found at a place of the text, everywhere, by as many characters. */
function hiding(at: number, length: number): (window: string) => string {
  const hidden = NUMBERED.slice(at, at + length)
  return (window) => window.replaceAll(hidden, '#'.repeat(length))
}

test('masks as long as what they hide, whatever the hold-back is', () => {
  const anyHoldBack = fc.constantFrom(1, 2, 7, 20)
  fc.assert(
    fc.property(anyHoldBack, fc.nat({ max: 5000 }), steps, (holdBack, at, all) => {
      const webhook = hiding(at, holdBack)
      expect(leaves(NUMBERED, webhook, all, { holdBack }).text).toBe(webhook(NUMBERED))
    }),
    { numRuns: runs(200) },
  )
})

test('a webhook that needs fewer characters at the end has no more held back', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.nat({ max: 5000 }),
      steps,
      (length, at, all) => {
        const webhook = hiding(at, length)
        expect(leaves(NUMBERED, webhook, all, { needed: 20 }).text).toBe(webhook(NUMBERED))
      },
    ),
    { numRuns: runs(100) },
  )
  const { mostHeld } = leaves('word '.repeat(2000), (text) => text, FAST, { needed: 20 })
  expect(mostHeld).toBeLessThan(20 + 12)
})

test('masks so dense that none has room around it: still exact, and not all is held', () => {
  fc.assert(
    fc.property(denselyMasked, steps, (masked, all) => {
      const { text } = leaves(masked.text, masksOf(masked), [...all, 'answer'])
      expect(text).toBe(applyMask(masked.text, masked.mask))
    }),
    { numRuns: runs(100) },
  )
})

test('nothing but masks with a blank or a comma between them: exact, and it leaves as it comes', () => {
  fc.assert(
    fc.property(whollyMasked, steps, ({ text, webhook }, all) => {
      const left = leaves(text, webhook, [...all, 'time', 'answer'])
      expect(left.isStuck).toBe(false)
      expect(left.text).toBe(webhook(text))
    }),
    { numRuns: runs(25) },
  )
  const text = Array.from({ length: 1000 }, (_, at) => `user${at}@example.com `).join('')
  const { mostHeld, shown } = leaves(text, (window) => window.replace(/\S+@\S+/g, '[email]'), FAST)
  expect(mostHeld).toBeLessThan(1000)
  expect(shown).toBeLessThan(100 * text.length)
})

// Windows end after a key, and a webhook hides the value: what is left of the key says nothing of the match.
test.each([' ****', ' [the secret is hidden]', ''])(
  'a match that crosses the end of every window, and leaves its start as it was, with %j for the rest: appears once',
  (instead) => {
    const pairs = Array.from({ length: 900 }, (_, at) => `v${String(at)} k${String(at)} `)
    const text = pairs.join('')
    const webhook = (window: string): string => window.replace(/(k\d+) v\d+/g, `$1${instead}`)
    for (const size of [4, 8, 10, 12, 36]) {
      const left = leaves(text, webhook, [size, 'time', 'answer'], { holdBack: 64 })
      expect(left.text).toBe(webhook(text))
      expect(left.mostHeld).toBeLessThan(512)
    }
  },
)

/** Cut at a place near a change while as much is held as is allowed. */
const EXAMPLE = 'wörds 😀 alone, '.repeat(4096).slice(0, 65_529) + 's' + 'secret '.repeat(9363)

const REPEATED = [
  'secret ',
  'wörds 😀 alone, ',
  'wörds 😀 and a secret, ',
  'a "quoted"\n secret\u2028 ',
  's',
]

/** Words that repeat for longer than may be held. */
const repeating = fc
  .array(fc.tuple(fc.constantFrom(...REPEATED), fc.integer({ min: 1, max: 40_000 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.map(([words, length]) => repeated(words, length)).join(''))

const repeated = (words: string, length: number): string =>
  words
    .repeat(Math.ceil(length / words.length))
    .slice(0, length)
    .replace(/[\ud800-\udbff]$/, '')

test.each(['******', '*', '[masked secret]', ''])(
  'a text that repeats itself, and %j for what is masked: appears once',
  (mask) => {
    const webhook = (window: string): string => window.replaceAll('secret', mask)
    const pieces = fc.array(fc.integer({ min: 1, max: 80_000 }), { minLength: 1, maxLength: 5 })
    const anyHoldBack = fc.constantFrom(20, 256, 1000)
    fc.assert(
      fc.property(repeating, pieces, anyHoldBack, (text, sizes, holdBack) => {
        const left = leaves(text, webhook, [...sizes, 'answer'], { holdBack })
        if (!left.isStuck) expect(left.text === webhook(text)).toBe(true)
      }),
      { numRuns: runs(25), examples: [[EXAMPLE, [200_000], 256]] },
    )
  },
)

test('text in which nothing is masked leaves but for its last 256 characters and a word', () => {
  const { mostHeld } = leaves('word '.repeat(2000), (text) => text, FAST)
  expect(mostHeld).toBeLessThan(256 + 20)
})

test('the first character leaves when as many as the hold-back are there, not one later', () => {
  for (const holdBack of [1, 64, 256, 4096]) {
    const channel = channelOf(holdBack)
    let count = 0
    while (channel.text.due() === 'no') {
      channel.push('x')
      count += 1
    }
    const content = channel.text.take() ?? ''
    settle(channel, { content })
    expect([count, content.length, channel.isFree(1), channel.isFree(2)]).toEqual([
      holdBack,
      holdBack,
      true,
      false,
    ])
  }
})

test('a piece leaves whole: a webhook is not asked before all of the next one could leave', () => {
  const channel = channelOf(64)
  channel.push('a piece of 23 letters, ')
  channel.push('x '.repeat(31))
  expect(channel.text.due()).toBe('no')
  channel.push('xx')
  expect(channel.text.due()).toBe('in-word')
})

test.each([
  ['one word', () => 'XXX'],
  ['nothing', () => ''],
  ['text without any place between two changes', (text: string) => '*'.repeat(text.length)],
])(
  'a webhook that makes %s of everything is stuck at the bound, and nothing leaves',
  (_name, webhook) => {
    const left = leaves('some words '.repeat(3000), webhook, FAST)
    expect(left).toMatchObject({ text: '', isStuck: true })
    expect(left.mostHeld).toBeLessThanOrEqual(MOST_HELD)
    // Windows grow with what is held: all of them together are a few times what is held.
    expect(left.shown).toBeLessThan(32 * MOST_HELD)
  },
)

test('a short text of which nothing is left as it was leaves whole at its end', () => {
  const left = leaves('some words '.repeat(300), () => 'XXX', FAST)
  expect(left).toMatchObject({ text: 'XXX', isStuck: false })
})

test('a webhook whose answers contradict each other: nothing that it never let pass leaves', () => {
  const text = Array.from({ length: 800 }, (_, at) => `item${at} `).join('')
  fc.assert(
    fc.property(steps, fc.array(fc.nat({ max: 3 }), { minLength: 40 }), (all, dice) => {
      let throws = 0
      const webhook = (window: string): string =>
        window.replace(/item\d*/g, () => {
          throws += 1
          return ['*', '[a thing]', '', '##'][dice[throws % dice.length] ?? 0] ?? ''
        })
      const left = leaves(text, webhook, [...all, 'time', 'answer'])
      expect(left.text).not.toMatch(/item|\d/)
    }),
    { numRuns: runs(30) },
  )
})
