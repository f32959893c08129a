// The work that ADS streams do in one turn of the event loop.

import { expect, test } from 'vitest'
import { Turns } from '../../../src/xds/server/turns.js'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('so many units are done in one turn, and the rest in later ones, in order', async () => {
  const turns = new Turns()
  const done: number[] = []
  const answers = [...Array(20).keys()].map((index) => turns.run(() => void done.push(index)))
  expect(answers.filter(Boolean)).toHaveLength(8)
  expect(done).toHaveLength(8)
  await nextTurn()
  expect(done).toHaveLength(16)
  await nextTurn()
  expect(done).toEqual([...Array(20).keys()])
})

test('a large job is the last of its turn', async () => {
  const turns = new Turns()
  const done: string[] = []
  const large = (): void => {
    done.push('large')
    turns.spend(5_000)
  }
  expect(turns.run(large)).toBe(true)
  expect(turns.run(large)).toBe(false)
  expect(turns.run(() => done.push('small'))).toBe(false)
  await nextTurn()
  expect(done).toEqual(['large', 'large'])
  await nextTurn()
  expect(done).toEqual(['large', 'large', 'small'])
})

test('when a turn has passed there is time again', async () => {
  const turns = new Turns()
  turns.run(() => turns.spend(5_000))
  await nextTurn()
  await nextTurn()
  expect(turns.run(() => undefined)).toBe(true)
})
