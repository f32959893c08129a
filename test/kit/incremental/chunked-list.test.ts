// Long lists in chunks: a change leaves the other chunks identical, and equal lists are cut alike.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { concat, createChunker } from '../../../src/kit/incremental/chunked-list.js'
import { runs } from '../../support/runs.js'

interface Named {
  readonly name: string
}

const createNamed = () => createChunker<Named>(({ name }) => name)

const lengths = (chunks: readonly (readonly Named[])[]): readonly number[] =>
  chunks.map(({ length }) => length)

const many: readonly Named[] = [...Array(2_000).keys()].map((index) => ({
  name: `default/route-${String(index)}/0/0`,
}))

test('chunks are the whole list, in its order, cut as those of a copy in another process', () => {
  const edit = fc.record({ at: fc.nat(2_000), removes: fc.nat(200), adds: fc.nat(3) })
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 6 }), (edits) => {
      const chunksOf = createNamed()
      let list = many
      for (const { at, removes, adds } of edits) {
        const added = [...Array(adds).keys()].map((more) => ({
          name: `${String(at)}+${String(more)}`,
        }))
        list = list.toSpliced(at, removes, ...added)
        const chunks = chunksOf(list)
        expect(concat(chunks)).toEqual(list)
        expect(lengths(chunks)).toEqual(lengths(createNamed()(structuredClone(list))))
      }
    }),
    { numRuns: runs(30) },
  )
})

test('an element that is added, removed, replaced or moved changes its own chunks only', () => {
  const chunksOf = createNamed()
  const before = new Set(chunksOf(many))
  expect(before.size).toBeGreaterThan(20)
  const [moved, other] = [many[100], { name: 'other' }]
  if (moved === undefined) throw new Error('there are too few')
  const fresh = (list: readonly Named[]): number =>
    chunksOf(list).filter((chunk) => !before.has(chunk)).length
  expect(fresh([...many])).toBe(0)
  expect(fresh(many.toSpliced(700, 0, other))).toBeLessThanOrEqual(2)
  expect(fresh(many.toSpliced(700, 1))).toBeLessThanOrEqual(2)
  expect(fresh(many.with(700, other))).toBeLessThanOrEqual(2)
  expect(fresh(many.toSpliced(1_500, 0, moved).toSpliced(100, 1))).toBeLessThanOrEqual(4)
})

test('names between which there is no cut make chunks that are bounded', () => {
  const same = [...Array(2_000).keys()].map(() => ({ name: 'a' }))
  expect(Math.max(...lengths(createNamed()(same)))).toBeLessThanOrEqual(512)
})

test.each<[string, (index: number) => string]>([
  ['counted', (index) => `default/route-${String(index)}`],
  ['counted with a suffix', (index) => `default/route-${String(index)}/0/0`],
  ['of many namespaces', (index) => `team-${String(index % 100)}/route-${String(index)}`],
  ['of one length', (index) => String(index).padStart(40, '0')],
  ['of hosts', (index) => `api-${index.toString(36)}.example.com`],
])('names that are %s are cut as evenly as chance has it', (_, nameOf) => {
  const names = [...Array(10_000).keys()].map(nameOf).sort()
  const all = lengths(createNamed()(names.map((name) => ({ name }))))
  // What a change of any of them recomputes: twice the average length of a chunk.
  const recomputed = all.reduce((sum, length) => sum + length ** 2, 0) / names.length
  expect(recomputed).toBeLessThan(1.4 * 128)
  expect(all.length).toBeGreaterThan(10_000 / 64 / 1.4)
})
