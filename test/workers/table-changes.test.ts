// The table changes sent to a worker result in the same tables, whatever it had before.

import { expect, test } from 'vitest'
import type { AuthzEntry } from '../../src/ir/authz-entry.js'
import type { ProcEntry } from '../../src/ir/proc-entry.js'
import {
  changesBetween,
  createWorkerTables,
  NO_TABLES,
  type Tables,
} from '../../src/workers/table-changes.js'

const authz = (key: string, deny: readonly string[] = []): AuthzEntry => ({
  key,
  route: 'default/mcp',
  paths: [{ type: 'PathPrefix', value: '/' }],
  authorization: { deny, require: [], allow: [] },
})

const proc = (key: string): ProcEntry => ({
  type: 'guard',
  key,
  route: 'default/mcp',
  request: [],
  response: [],
})

const [a, b] = [authz('a'), authz('b')]
const [otherB, c] = [authz('b', ['true']), authz('c')]
const [pa, pb] = [proc('a'), proc('b')]

const versions: readonly Tables[] = [
  { authz: [a, b], proc: [pa] },
  { authz: [a, otherB, c], proc: [pa, pb] },
  { authz: [c], proc: [] },
]

test('changes, one after the other, and all at once', () => {
  for (const upTo of [1, 2, 3]) {
    const told = createWorkerTables(10, () => 0)
    let before = NO_TABLES
    for (const version of versions.slice(0, upTo)) {
      told.change(structuredClone(changesBetween(before, version)))
      before = version
    }
    told.forget(0)
    for (const key of ['a', 'b', 'c', 'x']) {
      expect(told.authz.get(key)?.entry).toEqual(before.authz.find((entry) => entry.key === key))
      expect(told.proc.get(key) !== undefined).toBe(before.proc.some((entry) => entry.key === key))
    }
  }
})

test('a key that vanished stays until it is forgotten', () => {
  let now = 100
  const told = createWorkerTables(10, () => now)
  told.change(changesBetween(NO_TABLES, { authz: [a, b], proc: [pa] }))
  now = 200
  told.change(changesBetween({ authz: [a, b], proc: [pa] }, { authz: [b], proc: [] }))
  told.forget(199)
  expect([told.authz.get('a'), told.proc.get('a')]).not.toContain(undefined)
  told.forget(200)
  expect([told.authz.get('a'), told.proc.get('a')]).toEqual([undefined, undefined])
})

test('what did not change costs nothing: one of many', () => {
  const many = Array.from({ length: 100 }, (_, index) => authz(`k${String(index)}`))
  const changed = [...many.slice(0, 50), authz('k50', ['true']), ...many.slice(51)]
  const changes = changesBetween({ authz: many, proc: [] }, { authz: changed, proc: [] })
  expect(changes.authz.removed).toEqual(['k50'])
  expect(changes.authz.added).toHaveLength(1)
})
