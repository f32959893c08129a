// Checks habits of the code that no linter knows: one home per name, owners of caches, errors with codes, short test
// files, and benchmarks without the helpers of tests.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sourceFiles as files } from './support/source-files.js'

const ROOT = resolve(import.meta.dirname, '..')

const filesOf = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/node_modules/'))

describe('names', () => {
  test('are exported by one file each', () => {
    const exported =
      /^export (?:abstract class|async function|const|function|class|interface|type) (\w+)/gm
    const homes = new Map<string, string[]>()
    for (const { path, text } of files)
      for (const name of new Set([...text.matchAll(exported)].map((match) => match[1] ?? '')))
        homes.set(name, [...(homes.get(name) ?? []), path])
    const shared = [...homes].filter(([, paths]) => paths.length > 1)
    expect(Object.fromEntries(shared)).toEqual({})
  })
})

describe('caches', () => {
  test('of the translation and its reports have an owner: none belongs to a module', () => {
    const rooms = ['gatewayapi/', 'xds/translator/', 'xds/encode/', 'admin/', 'app/']
    const cache =
      /^(?:export )?const .*(?:\b(?:memo|briefMemo)(?:Work)?(?:With)?[<(]|\bcreateChunker\b|\bcreateAttachedMap\b|new WeakMap)/m
    // By descriptors, which a module has for good.
    const fixed = ['xds/translator/dump-xds.ts']
    const wrong = files
      .filter(({ path }) => rooms.some((room) => path.startsWith(room)) && !fixed.includes(path))
      .filter(({ text }) => cache.test(text))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })
})

describe('errors', () => {
  test('of Gatehouse have a code, and one module reads their text and kind', () => {
    const own = /class \w+ extends Error\b|instanceof Error \? \w+\.(message|name)\b/
    const wrong = files
      .filter(({ path, text }) => path !== 'errors.ts' && own.test(text))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })
})

describe('tests', () => {
  test('are files of at most 400 lines', () => {
    const long = filesOf('test').filter(
      (path) => readFileSync(path, 'utf8').split('\n').length > 401,
    )
    expect(long).toEqual([])
  })
})

describe('benchmarks', () => {
  test('import nothing of test but the start of an API server and of a replica', () => {
    const shared = ['api-server.js', 'replica.js'].map(
      (file) => `../test/kubernetes/support/${file}`,
    )
    const imports = filesOf('bench').flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/from '([^']*\/test\/[^']+)'/g)].map(
        (match) => match[1] ?? '',
      ),
    )
    expect(imports.toSorted()).toEqual(shared)
  })
})
