// Lock files: npm and pip install exactly what was published at the time of locking.

import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { someRows } from './support/some-rows.js'

const root = resolve(import.meta.dirname, '..')

interface Locked {
  readonly integrity?: string
  readonly link?: boolean
  readonly resolved?: string
}

const SKIPPED = ['node_modules', '.cache', 'dist']

function filesNamed(pattern: string): readonly string[] {
  const exclude = (name: string): boolean => SKIPPED.includes(name.split('/').at(-1) ?? '')
  return globSync(pattern, { cwd: root, exclude }).map((name) => resolve(root, name))
}

const LOCKS = [...filesNamed('**/package-lock.json'), ...filesNamed('**/npm-shrinkwrap.json')]

test.each(someRows(LOCKS))('%s has a hash for every package', (file) => {
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
    packages: Record<string, Locked>
  }
  const installed = Object.entries(packages).filter(([path, { link }]) => path !== '' && !link)
  expect(installed.length).toBeGreaterThan(0)
  expect(installed.filter(([, { integrity }]) => integrity === undefined)).toEqual([])
})

test.each(someRows(LOCKS))('%s names no registry', (file) => {
  expect(readFileSync(file, 'utf8')).not.toContain('"resolved": "http')
})

/** The pins of a requirements file, each a line with the lines that continue it. */
function pins(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8').replaceAll('\\\n', ' ')
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

const REQUIREMENTS = [
  ...filesNamed('**/requirements.txt'),
  ...filesNamed('test/parties/python/*.txt'),
]

test.each(someRows(REQUIREMENTS))('%s has one version and its hashes for every package', (file) => {
  expect(pins(file).length).toBeGreaterThan(0)
  for (const pin of pins(file)) expect(pin).toMatch(/^[\w.[\]-]+==\S+.*--hash=sha256:[0-9a-f]{64}/)
})
