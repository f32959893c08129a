// The order in which calls wait for a webhook at its connection limit, and how many may wait.

import { expect, test } from 'vitest'
import { createLine, MOST_WAITING } from '../../../src/kit/http/webhook-line.js'

/** A line in which calls are named as they start. */
function named(max: number) {
  const line = createLine(max)
  const started: string[] = []
  const enter = (name: string, phase: 'request' | 'response' = 'request') =>
    line.enter(phase, () => started.push(name))
  return { line, started, enter }
}

test('replies go before prompts, and each of them in its order', () => {
  const { line, started, enter } = named(1)
  enter('first')
  enter('prompt 1')
  enter('prompt 2')
  enter('reply 1', 'response')
  enter('reply 2', 'response')
  expect(started).toEqual(['first'])
  for (let turn = 0; turn < 5; turn += 1) line.leave()
  expect(started).toEqual(['first', 'reply 1', 'reply 2', 'prompt 1', 'prompt 2'])
})

test('as many at once as there are connections, and all of them where there is no limit', () => {
  const { started, enter } = named(2)
  for (const name of ['a', 'b', 'c']) enter(name)
  expect(started).toEqual(['a', 'b'])
  const unlimited = named(0)
  for (const name of ['a', 'b', 'c']) unlimited.enter(name)
  expect(unlimited.started).toEqual(['a', 'b', 'c'])
})

test('no more than so many wait; a reply has its own places', () => {
  const { started, enter } = named(1)
  enter('first')
  for (let at = 0; at < MOST_WAITING; at += 1) expect(enter(`p${String(at)}`)).toBeDefined()
  expect(enter('one too many')).toBeUndefined()
  expect(enter('a reply', 'response')).toBeDefined()
  expect(started).toEqual(['first'])
})

test('who gives up is out of it', () => {
  const { line, started, enter } = named(1)
  enter('first')
  enter('gone')?.()
  enter('next')
  line.leave()
  expect(started).toEqual(['first', 'next'])
})

test('thousands that fail as they start end one after the other', () => {
  const line = createLine(1)
  let failed = 0
  line.enter('request', () => {})
  for (let at = 0; at < MOST_WAITING; at += 1)
    line.enter('request', () => {
      failed += 1
      line.leave()
    })
  line.leave()
  expect(failed).toBe(MOST_WAITING)
})
