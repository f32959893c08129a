// The query engine: a change recomputes only what depends on it, and the result equals a full computation.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { collectResources } from '../../../../src/control/schema/decode/resource-set.js'
import { buildWorld, type BuiltWorld } from '../../../../src/control/translate/world/build-world.js'
import {
  createQueryEngine,
  type QueryEngine,
  type Reader,
} from '../../../../src/control/translate/world/queries.js'
import { atOnce } from '../../../../src/kit/turns.js'

const NONE = collectResources([]).resources

/** A world of remote documents alone. */
const worldOf = (rows: ReadonlyMap<string, object>, before?: BuiltWorld): BuiltWorld =>
  atOnce(
    buildWorld(
      NONE,
      {
        remote: rows,
        names: new Map(),
        relayKeys: new Map(),
        routesBeyond: new Map(),
        servicesBeyond: new Map(),
      },
      before,
    ),
  )

const readerOf = (engine: QueryEngine, { world, changed }: BuiltWorld): Reader =>
  atOnce(engine.begin(world, changed))

/** Each sums up its row, and those of the two below it: "2" is a part of "4" and "5". */
function sum(reader: Reader, subject: number, computed: number[]): string {
  return reader.query('sum', subject, (own) => {
    computed.push(subject)
    const row = JSON.stringify(own.read('remote', String(subject)) ?? null)
    const below = subject < 2 ? [] : [Math.floor(subject / 2), subject - 2]
    return `${row}(${below.map((part) => sum(own, part, computed)).join()})`
  })
}

const rowsOf = (names: readonly string[]): Map<string, object> =>
  new Map(names.map((name) => [name, { name }]))

describe('the query engine', () => {
  test('computes what read the changed row, and what is made of that, and nothing else', () => {
    const engine = createQueryEngine()
    const rows = rowsOf(['0', '1', '2', '3', '5'])
    let world: BuiltWorld | undefined
    const ask = (rows: ReadonlyMap<string, object>): readonly number[] => {
      const computed: number[] = []
      world = worldOf(rows, world)
      const reader = readerOf(engine, world)
      for (const subject of [3, 4, 5]) sum(reader, subject, computed)
      return computed.sort()
    }
    expect(ask(rows)).toEqual([0, 1, 2, 3, 4, 5])
    expect(ask(new Map(rows))).toEqual([])
    expect(ask(new Map(rows).set('2', {}))).toEqual([2, 4, 5])
  })

  test('forgets what a revision did not use, with its parts', () => {
    const engine = createQueryEngine()
    const world = worldOf(rowsOf(['2']))
    const computed: number[] = []
    sum(readerOf(engine, world), 2, computed)
    atOnce(engine.begin(world.world, []))
    sum(atOnce(engine.begin(world.world, [])), 2, computed)
    expect(computed).toEqual([2, 1, 0, 2, 1, 0])
  })

  test('hands a query what it gave before a change, once', () => {
    const engine = createQueryEngine()
    let world: BuiltWorld | undefined
    const ask = (rows: ReadonlyMap<string, object>): unknown => {
      world = worldOf(rows, world)
      return readerOf(engine, world).query<readonly unknown[]>('pair', 'one', (own, previous) => [
        own.read('remote', 'one'),
        previous?.[0],
      ])
    }
    const [first, second, third] = [{ first: 1 }, { second: 2 }, { third: 3 }]
    expect(ask(new Map([['one', first]]))).toEqual([first, undefined])
    expect(ask(new Map([['one', second]]))).toEqual([second, first])
    // Not asked for in one revision: dropped, and what it gave with it.
    world = worldOf(new Map([['one', third]]), world)
    readerOf(engine, world)
    expect(ask(new Map([['one', first]]))).toEqual([first, undefined])
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
        const engine = createQueryEngine()
        let rows = new Map<string, object>()
        let world: BuiltWorld | undefined
        for (const [number, { changed, removed, asked, fails }] of rounds.entries()) {
          rows = new Map(rows)
          for (const key of changed) rows.set(String(key), { number })
          for (const key of removed) rows.delete(String(key))
          world = worldOf(rows, world)
          const reader = readerOf(engine, world)
          const fresh = readerOf(createQueryEngine(), world)
          for (const subject of asked)
            expect(sum(reader, subject, [])).toBe(sum(fresh, subject, []))
          if (fails)
            expect(() =>
              reader.query('broken', number, (own) => {
                sum(own, 9, [])
                throw new Error('broken')
              }),
            ).toThrow('broken')
        }
      }),
    )
  })
})
