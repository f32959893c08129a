// Gatehouse starts with the same flags for Node wherever this repository starts it (decision 34).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { programAt } from '../testing/program.js'
import { sourceFiles } from './support/source-files.js'

const ROOT = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const flags = programAt(join(ROOT, 'src/main.ts')).slice(0, -1)

test.each(['scripts/gatehouse.mjs', 'docs/settings.md'])('%s', (path) => {
  expect(flags.length).toBeGreaterThan(0)
  for (const flag of flags) expect(read(path)).toContain(flag)
})

test('the image takes them from its entry point, and the chart names no other', () => {
  const [entry] = read('Dockerfile').match(/^ENTRYPOINT .*main\.js.*$/m) ?? []
  expect(JSON.parse(entry?.slice('ENTRYPOINT '.length) ?? '[]')).toEqual([
    'node',
    ...flags,
    '/app/dist/main.js',
  ])
  expect(read('deploy/kubernetes.yaml')).not.toContain('main.js')
})

test('none is changed while the program runs, which V8 does not support', () => {
  expect(sourceFiles.filter(({ text }) => text.includes('setFlagsFromString'))).toEqual([])
})
