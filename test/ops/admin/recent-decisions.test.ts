// The ring of the decision log's latest lines.

import { expect, test } from 'vitest'
import {
  KEPT_DECISIONS,
  latestOf,
  RecentDecisions,
} from '../../../src/ops/admin/recent-decisions.js'

test('the ring keeps the latest lines and no more', () => {
  let now = 0
  const ring = new RecentDecisions({ now: () => (now += 1) })
  for (let line = 0; line < 3 * KEPT_DECISIONS + 1; line += 1) ring.add('decision', { line })
  const kept = latestOf([ring.lines()])
  expect(kept).toHaveLength(KEPT_DECISIONS)
  expect(kept[0]?.fields).toEqual({ line: 3 * KEPT_DECISIONS })
  expect(kept.at(-1)?.fields).toEqual({ line: 2 * KEPT_DECISIONS + 1 })
})

test('lines of several processes are merged, newest first, with ids of their own', () => {
  let now = 0
  const rings = [1, 2].map((worker) => new RecentDecisions({ now: () => now, worker }))
  for (const ring of [...rings, ...rings]) {
    now += 1
    ring.add('decision', {})
  }
  expect(latestOf(rings.map((ring) => ring.lines())).map(({ id }) => id)).toEqual([
    '2-1',
    '1-1',
    '2-0',
    '1-0',
  ])
})
