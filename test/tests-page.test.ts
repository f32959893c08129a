// docs/tests.md has the figures that scripts/coverage.mjs and scripts/mutation.mjs compare with.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import floors from './coverage-floors.json' with { type: 'json' }
import mutation from './mutation.json' with { type: 'json' }

const ROOT = resolve(import.meta.dirname, '..')
const page = readFileSync(join(ROOT, 'docs/tests.md'), 'utf8')

/** The cells of the rows of a table: their first column, and the last one. */
function table(name: string): readonly (readonly [string, string])[] {
  const text = page.split(`<!-- ${name} -->`)[1]?.split(`<!-- end of ${name} -->`)[0] ?? ''
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const cells = row.split('|').map((cell) => cell.trim())
    return [cells[1] ?? '', cells.at(-2) ?? '']
  })
}

const percent = (value: number): string => `${value.toFixed(1)} %`

test('the floors of branches', () => {
  const rows = Object.entries(floors).map(([room, floor]) => [`\`src/${room}\``, percent(floor)])
  expect(rows.length).toBeGreaterThan(5)
  expect(table('coverage')).toEqual(rows)
})

test('the scores of files', () => {
  const scores: Readonly<Record<string, number>> = mutation.scores
  const rows = Object.entries(scores).map(([file, score]) => [`\`${file}\``, percent(score)])
  expect(rows.length).toBeGreaterThan(0)
  expect(table('mutation')).toEqual(rows)
})

test('changes that no test can notice are of code that is there, and have a reason', () => {
  for (const { file, from, reason } of mutation.survivors) {
    expect(readFileSync(join(ROOT, file), 'utf8')).toContain(from)
    expect(reason.length).toBeGreaterThan(10)
  }
})
