// Every decision number cited in code, tests and documents is defined exactly once.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8')

const decided = [...read('docs/decisions.md').matchAll(/^- \*\*(\d+[a-z]?) /gm)].map(
  ([, number]) => number,
)

/** "decision 20c", "decisions 1, 3 and 5", "Decisions 15-19": a range is cited by its ends. */
const CITATION = /\b[Dd]ecisions? (\d+[a-z]?(?:(?:, | and |-)\d+[a-z]?)*)/g

const cited = (text: string): readonly string[] =>
  [...text.matchAll(CITATION)].flatMap(([, list = '']) => list.match(/\d+[a-z]?/g) ?? [])

test('no number names two decisions', () => {
  expect(decided.length).toBeGreaterThan(50)
  expect(decided.filter((number, index) => decided.indexOf(number) !== index)).toEqual([])
})

test('every decision that is cited is there', () => {
  const files = execFileSync(
    'git',
    ['ls-files', 'src', 'test', 'testing', 'bench', 'config', 'docs'],
    {
      cwd: ROOT,
      encoding: 'utf8',
    },
  )
    .split('\n')
    .filter((path) => /\.(ts|md|yaml|mjs)$/.test(path))
  const missing = files.flatMap((path) =>
    cited(read(path))
      .filter((number) => !decided.includes(number))
      .map((number) => `${path}: decision ${number}`),
  )
  expect(missing).toEqual([])
})
