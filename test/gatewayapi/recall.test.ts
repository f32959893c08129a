// What is remembered between rounds: only what a change concerns is computed again, and the result is as if all were.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRecall, type Reader } from '../../src/gatewayapi/recall.js'
import { buildWorld, type World } from '../../src/gatewayapi/world.js'
import { collectResources } from '../../src/resources/resource-set.js'

const EMPTY = buildWorld(collectResources([]).resources, new Map(), undefined).world

/** A world of remote documents alone: key → number. */
const worldOf = (rows: ReadonlyMap<string, object>): World => ({ ...EMPTY, remote: rows })

/** Each sums up its row, and those of the two below it: "2" is a part of "4" and "5". */
function sum(reader: Reader, subject: number, computed: number[]): string {
  return reader.recall('sum', subject, (own) => {
    computed.push(subject)
    const row = JSON.stringify(own.read('remote', String(subject)) ?? null)
    const below = subject < 2 ? [] : [Math.floor(subject / 2), subject - 2]
    return `${row}(${below.map((part) => sum(own, part, computed)).join()})`
  })
}

const rowsOf = (names: readonly string[]): Map<string, object> =>
  new Map(names.map((name) => [name, { name }]))

describe('recall', () => {
  test('computes what read the changed row, and what is made of that, and nothing else', () => {
    const recall = createRecall()
    const rows = rowsOf(['0', '1', '2', '3', '5'])
    const ask = (world: World): readonly number[] => {
      const computed: number[] = []
      const reader = recall.round(world)
      for (const subject of [3, 4, 5]) sum(reader, subject, computed)
      return computed.sort()
    }
    expect(ask(worldOf(rows))).toEqual([0, 1, 2, 3, 4, 5])
    expect(ask(worldOf(new Map(rows)))).toEqual([])
    expect(ask(worldOf(new Map(rows).set('2', {})))).toEqual([2, 4, 5])
  })

  test('forgets what a round did not use, with its parts', () => {
    const recall = createRecall()
    const world = worldOf(rowsOf(['2']))
    const computed: number[] = []
    sum(recall.round(world), 2, computed)
    recall.round(world)
    sum(recall.round(world), 2, computed)
    expect(computed).toEqual([2, 1, 0, 2, 1, 0])
  })

  test('gives what a fresh one gives, whatever changes, is asked for and fails', () => {
    const round = fc.record({
      changed: fc.array(fc.nat(9), { maxLength: 3 }),
      removed: fc.array(fc.nat(9), { maxLength: 3 }),
      asked: fc.array(fc.nat(9), { maxLength: 5 }),
      fails: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(round, { maxLength: 12 }), (rounds) => {
        const recall = createRecall()
        let rows = new Map<string, object>()
        for (const [number, { changed, removed, asked, fails }] of rounds.entries()) {
          rows = new Map(rows)
          for (const key of changed) rows.set(String(key), { number })
          for (const key of removed) rows.delete(String(key))
          const reader = recall.round(worldOf(rows))
          const fresh = createRecall().round(worldOf(rows))
          for (const subject of asked)
            expect(sum(reader, subject, [])).toBe(sum(fresh, subject, []))
          if (fails)
            expect(() =>
              reader.recall('broken', number, (own) => {
                sum(own, 9, [])
                throw new Error('broken')
              }),
            ).toThrow('broken')
        }
      }),
    )
  })
})
