// Finds where a text and its changed version differ, in time proportional to the text, and in slices that let other
// work run.

import { afterEach, describe, expect, test, vi } from 'vitest'
import { align, ALIGN_SLICE, type Change } from '../../../../src/extproc/sse/windows/align.js'

afterEach(() => vi.restoreAllMocks())

interface Work {
  readonly changes: readonly Change[]
  /** Characters and pieces that were looked at, in all and in the longest slice. */
  readonly total: number
  readonly most: number
}

/** Counts what the comparison looks at, and what of it happens without a pause. */
function workOf(original: string, changed: string): Work {
  const characters = vi.spyOn(String.prototype, 'charCodeAt')
  const pieces = vi.spyOn(String.prototype, 'slice')
  const slices = align(original, changed)
  let [total, most] = [0, 0]
  for (;;) {
    characters.mockClear()
    pieces.mockClear()
    const { done, value } = slices.next()
    // Comparing characters is a small part of the work of keeping a piece.
    const work = characters.mock.calls.length / 16 + pieces.mock.calls.length
    total += work
    most = Math.max(most, work)
    if (done === true) {
      vi.restoreAllMocks()
      return { changes: value, total, most }
    }
  }
}

const items = (count: number): string =>
  Array.from({ length: count }, (_, at) => `user${at}@example.com `).join('')

describe.each([
  ['nothing changed', (text: string) => text],
  ['everything is masked', (text: string) => text.replace(/\S+@\S+/g, '[email]')],
  ['everything is one change', (text: string) => '*'.repeat(text.length)],
  ['everything is gone', () => ''],
  ['it is another text', (text: string) => [...text].reverse().join('')],
  ['much is put in', (text: string) => `${'y'.repeat(100_000)}${text}`],
  ['every other one is masked', (text: string) => text.replace(/\S+[02468]@\S+/g, '*')],
])('%s', (_name, change) => {
  test('the work of a slice is bounded, and all of it grows with the text', () => {
    const [short, long] = [items(400), items(800)]
    const [one, two] = [workOf(short, change(short)), workOf(long, change(long))]
    expect(Math.max(one.most, two.most)).toBeLessThan(2 * ALIGN_SLICE)
    expect(two.total).toBeLessThan(2.5 * one.total + ALIGN_SLICE)
  })

  test('what is between the changes is the same in both', () => {
    const text = items(400)
    const changed = change(text)
    const { changes } = workOf(text, changed)
    let [at, to] = [0, 0]
    for (const { start, end, from, to: next } of changes) {
      expect(text.slice(at, start)).toBe(changed.slice(to, from))
      at = end
      to = next
    }
    expect(text.slice(at)).toBe(changed.slice(to))
  })
})

test('a long text that changes everywhere is compared in more than one slice', () => {
  let count = 0
  const text = items(800)
  const slices = align(text, text.replace(/\S+@\S+/g, '[email]'))
  while (slices.next().done !== true) count += 1
  expect(count).toBeGreaterThan(1)
})
