// package-lock.json: whatever npm installs is what was published when it was locked.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')

interface Locked {
  readonly integrity?: string
  readonly link?: boolean
  readonly optional?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
}

/** Binaries of the build's tools for other platforms, whose hashes nobody has filled in yet. None of them may be added. */
const WITHOUT = /^node_modules\/@(rollup\/rollup|bufbuild\/buf)-/
const MOST_WITHOUT = 29

function without(file: string): readonly [string, Locked][] {
  const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8')) as {
    packages: Record<string, Locked>
  }
  return Object.entries(packages).filter(
    ([path, { integrity, link }]) => path !== '' && link !== true && integrity === undefined,
  )
}

test('every package has its hash, some binaries for other platforms apart', () => {
  const others = without('package-lock.json')
  expect(others.length).toBeLessThanOrEqual(MOST_WITHOUT)
  for (const [path, { optional, os, cpu }] of others) {
    expect(path).toMatch(WITHOUT)
    expect([path, optional, os !== undefined && cpu !== undefined]).toEqual([path, true, true])
  }
  expect(without('test/parties/package-lock.json')).toEqual([])
})
