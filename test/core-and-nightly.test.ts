// test/core-and-nightly.json: each test file that starts programs of others runs at each change or in the night, and each
// path that it names is there.

import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { filesLeftOut, namedIn, onOldest } from '../scripts/test-files.mjs'

const ROOT = resolve(import.meta.dirname, '..')

interface List {
  readonly files: Readonly<
    Record<string, { readonly core: readonly string[]; readonly nightly: readonly string[] }>
  >
  readonly changes: readonly {
    readonly below: readonly string[]
    readonly runs: readonly string[]
  }[]
}
const { files, changes } = JSON.parse(
  readFileSync(resolve(ROOT, 'test/core-and-nightly.json'), 'utf8'),
) as List

afterEach(() => {
  vi.unstubAllEnvs()
})

test('lists the folders whose files start programs of others', () => {
  expect(Object.keys(files).sort()).toEqual([
    'containers',
    'integration',
    'kubernetes',
    'mesh',
    'parties',
  ])
})

test.each(Object.entries(files))('%s: each file is in one list, once', (folder, lists) => {
  const there = globSync(`test/${folder}/*.test.ts`, { cwd: ROOT })
    .map((path) => basename(path, '.test.ts'))
    .sort()
  expect(there).not.toEqual([])
  expect([...lists.core, ...lists.nightly].sort()).toEqual(there)
})

test('names folders and files that are there', () => {
  expect(changes.length).toBeGreaterThan(1)
  const isThere = (path: string): boolean =>
    existsSync(resolve(ROOT, path)) || existsSync(resolve(ROOT, `${path}.test.ts`))
  expect(onOldest.length).toBeGreaterThan(20)
  const paths = [...changes.flatMap(({ below, runs }) => [...below, ...runs]), ...onOldest]
  expect(paths.filter((path) => !isThere(path))).toEqual([])
})

test.each([
  ['core', 'nightly'],
  ['nightly', 'core'],
] as const)('%s leaves out the files of %s, but not those that a command names', (runs, other) => {
  vi.stubEnv('GATEHOUSE_TEST_FILES', runs)
  vi.stubEnv('GATEHOUSE_TEST_WHOLE', '')
  const listed = (files['mesh']?.[other] ?? []).map((name) => `test/mesh/${name}.test.ts`)
  expect(filesLeftOut('mesh')).toEqual(listed)
  const [named = ''] = listed
  expect(filesLeftOut('mesh', [named])).toEqual(listed.slice(1))
})

test('a change of what a mesh is told runs all of mesh, and nothing more elsewhere', () => {
  vi.stubEnv('GATEHOUSE_TEST_FILES', 'core')
  vi.stubEnv('GATEHOUSE_TEST_WHOLE', 'test/mesh/')
  expect(filesLeftOut('mesh')).toEqual([])
  expect(filesLeftOut('parties')).toHaveLength(files['parties']?.nightly.length ?? 0)
})

test('what a command names is neither a flag nor the value of one', () => {
  const args = ['--project', 'mesh', 'sealed', '-t', 'opens', '--reporter=dot', 'walk']
  expect(namedIn(args)).toEqual(['sealed', 'walk'])
})

test('the nightly workflow runs each part of the nightly run', () => {
  const script = resolve(ROOT, 'scripts/test-nightly.mjs')
  const help = execFileSync(process.execPath, [script, '--help'], { encoding: 'utf8' })
  const parts = [...help.matchAll(/^(\S+) {2,}/gm)].map(([, part]) => part)
  expect(parts.length).toBeGreaterThan(10)
  const { jobs } = parse(readFileSync(resolve(ROOT, '.github/workflows/nightly.yml'), 'utf8')) as {
    readonly jobs: { readonly nightly: { readonly strategy: { readonly matrix: object } } }
  }
  expect(jobs.nightly.strategy.matrix).toEqual({ part: parts })
})
