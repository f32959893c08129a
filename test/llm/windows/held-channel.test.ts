// A text in windows: whatever is masked, and however it comes, what leaves is the mask of the whole text.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createHeldChannel } from '../../../src/llm/windows/held-channel.js'
import { anyMasked, applyMask, denselyMasked, type Masked } from './masks.js'

/** What happens next: so many characters come, or the webhook answers, or it is asked because time has passed. */
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
}

/** Plays the webhook and the model, and checks at each step that nothing unseen leaves. */
function leaves({ text, mask }: Masked, all: readonly Step[]): Left {
  const channel = createHeldChannel(
    { kind: 'text', role: 'assistant', form: 'string' },
    { isWhole: false, mayKeep: () => false },
  )
  const parts: string[] = []
  let [at, first, seen, mostHeld, out] = [0, 0, 0, 0, '']
  let asked: string | undefined
  const ask = (): void => {
    const window = channel.text.take()
    if (window === undefined) return
    asked = window
    const end = channel.text.length - channel.text.unseen
    expect(text.slice(0, end).endsWith(window)).toBe(true)
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
    const changed = applyMask(asked, mask)
    asked = undefined
    channel.answered(changed)
    leave()
    mostHeld = Math.max(mostHeld, seen - first)
    if (channel.text.isDue()) ask()
  }
  for (let turn = 0; at < text.length; turn += 1) {
    const next = all[turn % all.length] ?? 1
    if (next === 'answer') answer()
    else if (next === 'time' && channel.text.isTimed()) ask()
    else if (typeof next === 'number') {
      parts.push(text.slice(at, at + next))
      channel.push(text.slice(at, at + next))
      at += next
      if (channel.text.isDue()) ask()
    }
  }
  seen = channel.text.length - channel.text.unseen
  channel.end()
  leave()
  ask()
  while (asked !== undefined) answer()
  expect([first, channel.isDone()]).toEqual([text.length, true])
  return { text: out, mostHeld }
}

test('any masks of up to 256 characters', () => {
  fc.assert(
    fc.property(anyMasked(1500), steps, (masked, all) => {
      expect(leaves(masked, all).text).toBe(applyMask(masked.text, masked.mask))
    }),
    { numRuns: 200 },
  )
})

test('masks so dense that none has room around it: still exact, and not all is held', () => {
  fc.assert(
    fc.property(denselyMasked, steps, (masked, all) => {
      const left = leaves(masked, [...all, 'answer'])
      expect(left.text).toBe(applyMask(masked.text, masked.mask))
    }),
    { numRuns: 100 },
  )
})

test('text in which nothing is masked leaves but for its last 256 characters and a word', () => {
  const text = 'word '.repeat(2000)
  const { mostHeld } = leaves({ text, mask: new Map() }, [10, 'time', 'answer'])
  expect(mostHeld).toBeLessThan(256 + 20)
})

test('densely masked text is held by a few thousand characters', () => {
  const text = Array.from(
    { length: 500 },
    (_, at) => `Ann Lee did this and that, says ${at} and then `,
  )
  const masked = { text: text.join(''), mask: new Map([['Ann Lee', 'X']]) }
  const { mostHeld } = leaves(masked, [10, 'time', 'answer'])
  expect(mostHeld).toBeLessThan(6000)
  expect(mostHeld).toBeGreaterThan(3000)
})

test('a webhook that leaves nothing as it was holds everything, and its answer leaves whole', () => {
  const text = 'some words '.repeat(3000)
  const channel = createHeldChannel(
    { kind: 'text', role: 'assistant', form: 'string' },
    { isWhole: false, mayKeep: () => false },
  )
  let shown = 0
  for (let at = 0; at < text.length; at += 11) {
    channel.push(text.slice(at, at + 11))
    const window = channel.text.isDue() ? channel.text.take() : undefined
    if (window === undefined) continue
    shown += window.length
    channel.answered('XXX')
    expect(channel.isFree(1)).toBe(false)
  }
  channel.end()
  channel.text.take()
  channel.answered('XXX')
  expect(channel.leave(0, text)).toBe('XXX')
  // Windows grow with what is held: all of them together are a few times the text.
  expect(shown).toBeLessThan(10 * text.length)
})
