// Unit tests share processes (vitest.config.ts). A file that replaces modules needs its own, and the hooks of a shared helper
// would belong to the first file that imports it.

import { globSync, readFileSync } from 'node:fs'
import { matchesGlob, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8')

/** Returns the patterns of a list in vitest.config.ts. */
function listed(name: string): readonly string[] {
  const list =
    new RegExp(`const ${name} = \\[(.*?)\\n\\]`, 's').exec(read('vitest.config.ts'))?.[1] ?? ''
  return [...list.matchAll(/'([^']+)'/g)].map(([, pattern = '']) => pattern)
}
const [isolated, long] = [listed('isolated'), listed('long')]
const files = globSync('test/**/*.ts', { cwd: ROOT })
const isTest = (path: string): boolean => path.endsWith('.test.ts')

test.each([
  ['isolated', isolated],
  ['long', long],
])('the list of %s files names files', (_, patterns) => {
  expect(patterns.length).toBeGreaterThan(5)
  const empty = patterns.filter((pattern) => !files.some((path) => matchesGlob(path, pattern)))
  expect(empty).toEqual([])
})

test('no file is in both lists', () => {
  const isIn = (patterns: readonly string[], path: string): boolean =>
    patterns.some((pattern) => matchesGlob(path, pattern))
  expect(files.filter((path) => isIn(isolated, path) && isIn(long, path))).toEqual([])
})

test('unit tests that replace modules have processes of their own', () => {
  const replacing = files
    .filter((path) => isTest(path) && !path.startsWith('test/integration/'))
    .filter((path) => /^vi\.(?:mock|doMock|resetModules)\(/m.test(read(path)))
  const shared = replacing.filter((path) => !isolated.some((one) => matchesGlob(path, one)))
  expect(replacing).not.toEqual([])
  expect(shared).toEqual([])
})

test('helpers register hooks in functions', () => {
  const hooks = files
    .filter((path) => !isTest(path))
    .filter((path) => /^(?:before|after)(?:All|Each)\(/m.test(read(path)))
  expect(hooks).toEqual([])
})
