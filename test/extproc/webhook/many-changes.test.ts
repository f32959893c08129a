// A webhook may change all that it was shown, which may be 30,000 texts; what it adds of its own is bounded.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readVerdict } from '../../../src/extproc/webhook/webhook-answer.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { countTurns } from '../../support/count-turns.js'

/** As many texts as a body may have. */
const COUNT = 30_000
const SHOWN = Array.from({ length: COUNT }, (_, index) => ({
  role: 'user',
  content: String(index),
  isJson: false,
  isWritable: true,
}))

const PHASES = ['request', 'response'] as const

const bytes = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** A text that must stay JSON. */
const TOOL_CALL = {
  role: 'user',
  isJson: true,
  isWritable: true,
  content: JSON.stringify(Array.from({ length: COUNT }, () => 'x'.repeat(40))),
}

const withContent = (content: string): object => ({
  action: { body: { messages: [{ role: 'user', content }] } },
})

function changed(phase: (typeof PHASES)[number], own: object = {}): Uint8Array {
  const messages = SHOWN.map(({ role }) => ({ role, content: 'x', ...own }))
  const body =
    phase === 'request' ? { messages } : { choices: messages.map((message) => ({ message })) }
  return bytes({ action: { body } })
}

test.each(PHASES)('every text of a %s may be changed, in slices', async (phase) => {
  for (const own of [{}, { name: 'a', score: 1 }]) {
    const { result, turns } = await countTurns(() =>
      readVerdict([changed(phase, own)], phase, SHOWN),
    )
    expect(result.ok && result.value.type === 'modify' && result.value.contents).toEqual(
      SHOWN.map(() => 'x'),
    )
    // Three or more values of each text, of which some 4,000 are read between two pauses.
    expect(turns).toBeGreaterThan((3 * COUNT) / 4_096)
  }
})

test('an answer with many more values than it was shown is not read', async () => {
  const own = { notes: Array.from({ length: 20 }, () => ['a', {}]) }
  const verdict = await readVerdict([changed('request', own)], 'request', SHOWN)
  expect(verdict).toEqual({
    ok: false,
    error: 'the answer cannot be read: it holds too many values',
  })
  const few = await readVerdict([changed('request')], 'request', SHOWN.slice(0, 1))
  expect(few.ok).toBe(false)
})

test.each([
  ['many texts', SHOWN, changed('request')],
  ['one text of many values', [TOOL_CALL], bytes(withContent(`[${TOOL_CALL.content}]`))],
])('an answer that changes %s is read no further once the client has left', async (_, ...asked) => {
  const [shown, answer] = asked
  const { turns } = await countTurns(() => readVerdict([answer], 'request', shown))
  for (const after of [1, Math.floor(turns / 2), turns - 4]) {
    const client = new OwnEnding()
    const verdict = readVerdict([answer], 'request', shown, client)
    for (let turn = 0; turn < after; turn += 1) await nextTurn()
    client.abort()
    const left = await countTurns(() => verdict)
    expect(left.result.ok).toBe(false)
    expect(left.turns).toBeLessThan(3)
  }
})
