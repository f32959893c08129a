// Gatehouse starts with one size of V8's young generation, wherever this repository starts it (decision 34).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const read = (path: string): string => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const FLAG = '--max-semi-space-size=16'

test.each([
  'Dockerfile',
  'scripts/gatehouse.mjs',
  'src/main.ts',
  'testing/program.ts',
  'README.md',
])('%s', (path) => expect(read(path)).toContain(FLAG))

test('the image takes its flags from its entry point, and the chart names no other', () => {
  const [entry] = read('Dockerfile').match(/^ENTRYPOINT .*main\.js.*$/m) ?? []
  expect(JSON.parse(entry?.slice('ENTRYPOINT '.length) ?? '[]')).toEqual([
    'node',
    FLAG,
    '/app/dist/main.js',
  ])
  expect(read('deploy/kubernetes.yaml')).not.toContain('main.js')
})
