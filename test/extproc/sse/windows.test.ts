// Windows of a text end with their reply: nothing of an answer is applied after that, and a bug ends one reply alone.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createWindows, type Windows } from '../../../src/extproc/sse/windows.js'
import type { HeldChannel } from '../../../src/extproc/sse/windows/held-channel.js'
import type { Due } from '../../../src/extproc/sse/windows/held-text.js'
import { nextTurn } from '../../../src/kit/turns.js'
import { fakeClock } from '../../support/fake-clock.js'

let realClock: () => void
let due: () => Due
let take: () => string
/** Steps in which the answer was applied; it never ends. */
let steps: number
let failed: string[]
let windows: Windows

beforeEach(() => {
  realClock = fakeClock()
  due = () => 'at-once'
  take = () => 'a text'
  steps = 0
  failed = []
  windows = createWindows(
    { channels: () => [channel] },
    {
      minIntervalMs: 100,
      ask: () => Promise.resolve({ type: 'pass', contents: ['b'], needed: 0 }),
    },
    {
      answered: () => undefined,
      ended: () => undefined,
      failed: (error) => {
        failed.push(String(error))
        windows.close()
      },
    },
  )
})
afterEach(() => realClock())

const channel: HeldChannel = {
  speaker: { kind: 'text', role: 'assistant', form: 'string' },
  text: {
    length: 6,
    unseen: 6,
    isStuck: false,
    others: [],
    due: () => due(),
    take: () => take(),
  },
  *answered() {
    for (;;) {
      steps += 1
      yield
    }
  },
  push: () => undefined,
  end: () => undefined,
  isFree: () => true,
  isDone: () => false,
  isEnded: false,
  isChanged: false,
  leave: (_start, part) => part,
  isNearChange: () => false,
  received: undefined,
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn()
}

test('an answer is applied no further once the client has left', async () => {
  windows.look()
  await turns(3)
  windows.close()
  const before = steps
  await turns(3)
  expect(before).toBeGreaterThan(1)
  expect([steps, failed]).toEqual([before, []])
})

test('a bug as a text is taken ends its reply', async () => {
  take = () => {
    throw new Error('a bug')
  }
  windows.look()
  await turns(1)
  expect(failed).toEqual(['Error: a bug'])
})

test('a bug at the end of a wait ends its reply', () => {
  due = () => 'in-word'
  windows.look()
  due = () => {
    throw new Error('a bug')
  }
  vi.advanceTimersByTime(25)
  expect(failed).toEqual(['Error: a bug'])
})
