// Work that waits for a turn of the event loop shares its milliseconds.

import { expect, test } from 'vitest'
import { TurnLine } from '../../src/kit/turn-line.js'

/** Works of these milliseconds that wait at once: the number that was done after each turn. */
async function doneByTurn(costs: readonly number[]): Promise<readonly number[]> {
  const clock = { now: 0 }
  const line = new TurnLine(() => clock.now)
  let done = 0
  for (const cost of costs)
    void line.wait().then(() => {
      clock.now += cost
      done += 1
    })
  const counts: number[] = []
  while (done < costs.length) {
    await new Promise(setImmediate)
    counts.push(done)
  }
  return counts
}

test('works of a whole turn have one each', async () => {
  expect(await doneByTurn([5, 5, 5])).toEqual([1, 2, 3])
})

test('short ones share a turn', async () => {
  expect(await doneByTurn([1, 1, 1, 1, 1, 1])).toEqual([4, 6])
})

test('a long one ends its turn, and those before it had theirs', async () => {
  expect(await doneByTurn([1, 30, 1, 1])).toEqual([2, 4])
})

test('a work in many slices has one in a turn, and lets others have theirs', async () => {
  const line = new TurnLine(() => 0)
  const order: string[] = []
  const slices = async (name: string): Promise<void> => {
    for (let count = 0; count < 3; count += 1) {
      await line.wait()
      order.push(name)
    }
  }
  await Promise.all([slices('a'), slices('b')])
  expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
})

test('owners take turns, however many works of one wait', async () => {
  const line = new TurnLine(() => 0)
  const [many, few] = [{}, {}]
  const order: string[] = []
  const waits = [
    ...[1, 2, 3].map((nth) => line.wait(many).then(() => order.push(`many ${String(nth)}`))),
    ...[1, 2].map((nth) => line.wait(few).then(() => order.push(`few ${String(nth)}`))),
  ]
  await Promise.all(waits)
  expect(order).toEqual(['many 1', 'few 1', 'many 2', 'few 2', 'many 3'])
})

test('after all is done, the next work is done too', async () => {
  const line = new TurnLine(() => 0)
  await line.wait()
  await line.wait()
  await new Promise(setImmediate)
  await expect(line.wait()).resolves.toBeUndefined()
})

test('work that begins without waiting fills its turn, and the next one has room again', async () => {
  const clock = { now: 0 }
  const line = new TurnLine(() => clock.now)
  const take = (ms: number): boolean =>
    line.hasRoom() && line.begin(() => ((clock.now += ms), true))
  expect([take(3), take(3), take(0), take(0)]).toEqual([true, true, false, false])
  await new Promise(setImmediate)
  expect([take(0), take(5), take(0)]).toEqual([true, true, false])
  await new Promise(setImmediate)
  const broken = (): never => {
    clock.now += 5
    throw new Error('broken')
  }
  expect(() => line.begin(broken)).toThrow('broken')
  expect(line.hasRoom()).toBe(false)
})
