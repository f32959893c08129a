// The table changes sent to a worker result in the same tables, whatever it had before.

import { describe, expect, test, vi } from 'vitest'
import type { TableChanges } from '../../../src/control/workers/messages.js'
import {
  changesBetween,
  createWorkerTables,
  NO_TABLES,
  partsOf,
  type Tables,
  type WorkerTables,
} from '../../../src/control/workers/table-changes.js'
import type * as rulesType from '../../../src/extauthz/rules/compile-rules.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { AuthzEntry } from '../../../src/model/authz-entry.js'
import type { ProcEntry } from '../../../src/model/proc-entry.js'

const compiled = vi.hoisted(() => ({ count: 0 }))

vi.mock('../../../src/extauthz/rules/compile-rules.js', async (original) => {
  const rules = await original<typeof rulesType>()
  const compileRules: typeof rules.compileRules = (...args) => {
    compiled.count += 1
    return rules.compileRules(...args)
  }
  return { ...rules, compileRules }
})

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

const LIMITS = { rememberedTokens: 10, workers: 1 }

const change = (tables: WorkerTables, changes: TableChanges): void =>
  atOnce(tables.change(structuredClone(partsOf(changes))))

test('changes, one after the other, and all at once', () => {
  for (const upTo of [1, 2, 3]) {
    const told = createWorkerTables(LIMITS, () => 0)
    let before = NO_TABLES
    for (const version of versions.slice(0, upTo)) {
      change(told, changesBetween(before, version))
      before = version
    }
    told.forget(0)
    for (const key of ['a', 'b', 'c', 'x']) {
      expect(told.authz.get(key)?.entry).toEqual(before.authz.find((entry) => entry.key === key))
      expect(told.proc.get(key) !== undefined).toBe(before.proc.some((entry) => entry.key === key))
    }
  }
})

describe('many entries', () => {
  const COUNT = 1_000
  const keyOf = (index: number): string => `k${String(index)}`
  const all = (deny: readonly string[]): Tables => ({
    authz: Array.from({ length: COUNT }, (_, index) => authz(keyOf(index), deny)),
    proc: Array.from({ length: COUNT / 2 }, (_, index) => proc(keyOf(index))),
  })

  test('are sent in parts of at most 64, and an empty change in one', () => {
    const parts = partsOf(changesBetween(all([]), all(['true'])))
    for (const { authz, proc } of parts)
      for (const list of [authz.removed, authz.added, proc.removed, proc.added])
        expect(list.length).toBeLessThanOrEqual(64)
    expect(parts.flatMap(({ authz }) => authz.added)).toHaveLength(COUNT)
    expect(partsOf(changesBetween(NO_TABLES, NO_TABLES))).toHaveLength(1)
  })

  test('are compiled one at a time, and take effect together', () => {
    const told = createWorkerTables(LIMITS, () => 0)
    change(told, changesBetween(NO_TABLES, all([])))
    const work = told.change(partsOf(changesBetween(all([]), all(['true']))))
    const entries = (): readonly (AuthzEntry | undefined)[] =>
      [0, COUNT - 1].map((index) => told.authz.get(keyOf(index))?.entry)
    for (;;) {
      compiled.count = 0
      const before = entries()
      const step = work.next()
      expect(compiled.count).toBeLessThanOrEqual(1)
      if (step.done === true) break
      expect(entries()).toEqual(before)
    }
    expect(entries()).toEqual([authz(keyOf(0), ['true']), authz(keyOf(COUNT - 1), ['true'])])
  })
})

test('a key that vanished stays until it is forgotten', () => {
  let now = 100
  const told = createWorkerTables(LIMITS, () => now)
  change(told, changesBetween(NO_TABLES, { authz: [a, b], proc: [pa] }))
  now = 200
  change(told, changesBetween({ authz: [a, b], proc: [pa] }, { authz: [b], proc: [] }))
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
