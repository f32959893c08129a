// Which lines about refusals are written, and that those left out are counted by what they have in common and by caller.

import { expect, test } from 'vitest'
import { createDecisionLog } from '../src/kit/decision-log.js'

const ROUTE = 'default/mcp'
const key = { decision: 'deny', reason: 'denied-by-rule', route: ROUTE }

interface Line {
  readonly msg: string
  readonly sub?: string
  readonly leftOut: number
}

/** A log in which time stands still unless the test moves it. */
function logging(everyRefusal: boolean) {
  const lines: Line[] = []
  const clock = { now: 1_000_000 }
  const log = createDecisionLog({
    claims: [],
    now: () => clock.now,
    choice: { refusals: true, everyRefusal, oneAllowedOf: 0 },
    write: (msg, fields) => void lines.push({ msg, ...fields } as unknown as Line),
  })
  const refuse = (sub: string, { verified = true, fill = '' } = {}): void =>
    log.refused({
      message: 'decision',
      key,
      caller: () => ({ verified, sub }),
      fields: () => ({ ...key, verified, sub, fill }),
    })
  const written = (): readonly Line[] => lines.filter(({ msg }) => msg === 'decision')
  const told = (): number =>
    written().length + lines.map(({ leftOut }) => leftOut).reduce((sum, one) => sum + one, 0)
  return { log, lines, clock, refuse, written, told }
}

test('each caller has a line, and is counted by itself', () => {
  const { log, lines, refuse } = logging(false)
  for (let count = 0; count < 5; count += 1) refuse('alice')
  refuse('bob')
  refuse('alice', { verified: false })
  log.flush()
  const line = { msg: 'decision', ...key, fill: '', leftOut: 0 }
  expect(lines).toEqual([
    { ...line, verified: true, sub: 'alice' },
    { ...line, verified: true, sub: 'bob' },
    { ...line, verified: false, sub: 'alice' },
    { msg: 'decisions left out', of: 'decision', ...key, verified: true, sub: 'alice', leftOut: 4 },
  ])
})

test('callers beyond the limit are counted together, by reason', () => {
  const { log, lines, refuse, written, told } = logging(false)
  for (let count = 0; count < 10_000; count += 1) refuse(`caller ${count}`)
  expect(written()).toHaveLength(257)
  log.flush()
  expect(lines.at(-1)).toEqual({
    msg: 'decisions left out',
    of: 'decision',
    ...key,
    leftOut: 9_743,
  })
  expect(told()).toBe(10_000)
})

test('made-up callers take no place from verified ones', () => {
  const { refuse, written } = logging(false)
  for (let count = 0; count < 10_000; count += 1) refuse(`caller ${count}`, { verified: false })
  expect(written()).toHaveLength(65)
  refuse('alice')
  expect(written()).toHaveLength(66)
})

test('all: each refusal has a line', () => {
  const { refuse, written } = logging(true)
  for (let count = 0; count < 1_000; count += 1) refuse('alice')
  expect(written()).toHaveLength(1_000)
})

test('all: lines beyond a mebibyte a second are counted, and every caller has one of its own', () => {
  const { log, clock, refuse, written, told } = logging(true)
  const fill = 'x'.repeat(1_000)
  const flood = (sub: string): void => {
    for (let count = 0; count < 5_000; count += 1) refuse(sub, { fill })
  }
  flood('alice')
  const first = written().length
  expect(first).toBeGreaterThan(800)
  expect(first).toBeLessThan(1_100)
  flood('bob')
  expect(written()).toHaveLength(first + 1)
  clock.now += 500
  flood('alice')
  expect(written().length).toBeGreaterThan(first + 400)
  expect(written().length).toBeLessThan(first + 550)
  // A pause earns no more than a second's worth.
  clock.now += 9_000
  flood('alice')
  expect(written().length).toBeLessThan(2.6 * first)
  log.flush()
  expect(told()).toBe(20_000)
})

test('all: a clock that is set back silences nobody', () => {
  const { clock, refuse, written } = logging(true)
  refuse('alice')
  clock.now = 0
  refuse('alice')
  expect(written()).toHaveLength(2)
})
