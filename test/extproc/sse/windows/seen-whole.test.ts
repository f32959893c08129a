// The guarantee of the hold-back: whatever is no longer than it was whole in one window before its first character left.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createHeldChannel,
  type HeldChannel,
} from '../../../../src/extproc/sse/windows/held-channel.js'
import { runs } from '../../../support/runs.js'
import { anyMasked, applyMask } from './masks.js'

/** Characters that arrive, or an answer of the webhook, or a question although a word may continue. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 3000 }) },
  { weight: 3, arbitrary: fc.constant('answer' as const) },
  { weight: 1, arbitrary: fc.constant('time' as const) },
)
type Step = number | 'answer' | 'time'
const steps = fc
  .array(step, { minLength: 1, maxLength: 30 })
  .filter((all) => all.some((one) => typeof one === 'number'))

/** A text that is shown to a webhook as it arrives, and the windows that the webhook has seen. */
class Shown {
  readonly #text: string
  readonly #holdBack: number
  readonly #webhook: (window: string) => string
  readonly #channel: HeldChannel
  readonly #windows: (readonly [from: number, to: number])[] = []
  readonly #parts: string[] = []
  #arrived = 0
  #left = 0
  #asked: string | undefined

  constructor(text: string, holdBack: number, webhook: (window: string) => string) {
    this.#text = text
    this.#holdBack = holdBack
    this.#webhook = webhook
    this.#channel = createHeldChannel(
      { kind: 'text', role: 'assistant', form: 'string' },
      { holdBack, shown: 'windows', mayKeep: () => false },
    )
  }

  play(all: readonly Step[]): void {
    const { text } = this.#channel
    for (let turn = 0; this.#arrived < this.#text.length && !text.isStuck; turn += 1) {
      const next = all[turn % all.length] ?? 1
      if (next === 'answer') this.#answer()
      else if (next !== 'time') this.#arrive(next)
      else if (text.due() !== 'no') this.#ask()
    }
    if (text.isStuck) return
    this.#channel.end()
    this.#leave()
    this.#ask()
    while (this.#asked !== undefined) this.#answer()
  }

  #arrive(count: number): void {
    const part = this.#text.slice(this.#arrived, this.#arrived + count)
    this.#parts.push(part)
    this.#channel.push(part)
    this.#arrived += part.length
    if (['yes', 'at-once'].includes(this.#channel.text.due())) this.#ask()
  }

  #ask(): void {
    const { text } = this.#channel
    this.#asked = text.take()
    if (this.#asked === undefined) return
    const end = text.length - text.unseen
    this.#windows.push([end - this.#asked.length, end])
  }

  #answer(): void {
    if (this.#asked === undefined) return
    const content = this.#webhook(this.#asked)
    this.#asked = undefined
    for (const slice of this.#channel.answered({ content })) expect(slice).toBeUndefined()
    this.#leave()
    if (this.#channel.text.due() === 'at-once') this.#ask()
  }

  #leave(): void {
    for (let part = this.#parts[0]; part !== undefined; part = this.#parts[0]) {
      const end = this.#left + part.length
      if (!this.#channel.isFree(end)) return
      this.#channel.leave(this.#left, part)
      this.#parts.shift()
      const before = this.#left
      this.#left = end
      this.#expectSeen(before, end)
    }
  }

  /** Throws unless each interval that begins there was whole in one window. */
  #expectSeen(from: number, to: number): void {
    for (let at = from; at < to; at += 1) {
      const end = Math.min(at + this.#holdBack, this.#text.length)
      if (!this.#windows.some(([first, last]) => first <= at && end <= last))
        throw new Error(`${String(at)} to ${String(end)} in none of ${String(this.#windows)}`)
    }
  }
}

test.each([
  ['from 1 to 63', 1, 63],
  ['from 1 to 4,096', 1, 4096],
])('each match of up to the hold-back is whole in one window, sizes %s', (_sizes, min, max) => {
  const sized = fc.integer({ min, max })
  const shown = sized.chain((size) =>
    fc.tuple(fc.constant(size), anyMasked(size < 64 ? 150 : 1200, size)),
  )
  fc.assert(
    fc.property(shown, steps, ([holdBack, { text, mask }], all) => {
      new Shown(text, holdBack, (window) => applyMask(window, mask)).play(all)
    }),
    { numRuns: runs(500) },
  )
})
