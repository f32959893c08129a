// The work that ADS streams do in one turn of the event loop.

import { expect, test } from 'vitest'
import { namedMap } from '../../../src/kit/incremental/named-map.js'
import type { EncodedResource } from '../../../src/xds/encode/encode.js'
import { CLUSTER_TYPE } from '../../../src/xds/encode/type-urls.js'
import { Preparation } from '../../../src/xds/server/ads-server.js'
import { SharedViews } from '../../../src/xds/server/shared-views.js'
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

test('the rest of a large job has a later turn, and the rest of a small one this turn', async () => {
  const turns = new Turns()
  const done: string[] = []
  const inTwo = (name: string, units: number) => (): void => {
    done.push(name)
    turns.spend(units)
    turns.goOn(() => done.push(`rest of ${name}`))
  }
  turns.run(inTwo('small', 1))
  turns.run(inTwo('large', 5_000))
  turns.run(inTwo('next', 1))
  expect(done).toEqual(['small', 'rest of small', 'large'])
  await nextTurn()
  expect(done.slice(3)).toEqual(['rest of large', 'next', 'rest of next'])
})

test('when a turn has passed there is time again', async () => {
  const turns = new Turns()
  turns.run(() => turns.spend(5_000))
  await nextTurn()
  await nextTurn()
  expect(turns.run(() => undefined)).toBe(true)
})

test('thousands of new resources are encoded a few hundred in each turn', async () => {
  const resources = [...Array(3_000).keys()].map((index): EncodedResource => ({
    typeUrl: CLUSTER_TYPE,
    name: `c${String(index)}`,
    version: '1',
    parts: [],
  }))
  let encoded = 0
  const inTurn: number[] = []
  const preparation = new Preparation(
    new Turns(),
    new SharedViews(),
    ({ length }) => void (encoded += length),
  )
  preparation.begin(new Map([[CLUSTER_TYPE, namedMap(resources)]]))
  while (encoded > 0) {
    inTurn.push(encoded)
    encoded = 0
    await nextTurn()
  }
  expect(inTurn.reduce((sum, count) => sum + count, 0)).toBe(3_000)
  // The last chunk of a turn may be larger than what is left of it.
  expect(Math.max(...inTurn)).toBeLessThan(256 + 512)
})
