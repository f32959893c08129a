// Checks habits of the code that no linter knows: one home per name, owners of caches, errors with codes, short test
// files, and what tests and benchmarks share in a room below both.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
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

  test.each([
    ['keyOf', 'control/translate/world/world.ts'],
    ['routeKey', 'model/names.ts'],
    ['resourceKey', 'control/schema/decode/resource-set.ts'],
    ['errorText', 'kit/errors.ts'],
    ['GATEWAY_API_GROUP', 'control/schema/kinds/fields.ts'],
  ])('that all rooms use name nothing else, not even inside a file: %s', (name, home) => {
    const definition = new RegExp(`^\\s*(?:export )?(?:const|function\\*?) ${name}\\b`, 'm')
    const homes = files.filter(({ text }) => definition.test(text)).map(({ path }) => path)
    expect(homes).toEqual([home])
  })
})

/** Files with a cache that belongs to their module, and what it is. */
const SHARED_CACHES: Readonly<Record<string, string>> = {
  'control/schema/decode/resource-set.ts': 'keys of resources, kept on them',
  'control/translate/policies/inheritance.ts': 'which fields a policy sets, kept on its spec',
  'control/translate/policies/key-sets.ts':
    'an inline key set, kept on its part of the policy until that is translated',
  'control/translate/routes/path-patterns.ts':
    'what is known of a pattern, kept on its match, of which as many answers are kept as MOST_ANSWERS says',
  'control/translate/routes/well-known-routes.ts':
    'the path of the MCP server of a route, kept on it',
  'extauthz/cel/attributes.ts': 'the value of a request, kept on it for all of its rules',
  'extauthz/cel/operations.ts':
    'operators and functions, of which there are as many as the library has',
  'extauthz/cel/patterns.ts':
    'compiled patterns by their text, of which as many are kept as MAX_REMEMBERED says',
  'extauthz/cel/rule.ts': 'compiled rules by their text, while one of them is in use',
  'extauthz/oauth/key-set.ts':
    'the keys of a set, kept on it for the policies that name it and the tables',
  'kit/incremental/chunked-list.ts':
    'chunks, which must be the same objects for the translation, the hashes and the streams',
  'kit/incremental/diff.ts': 'the last comparison of each long list, kept as long as the list',
}

describe('caches', () => {
  test('have an owner: none belongs to a module, but for a few that are named', () => {
    const cache =
      /^(?:export )?(?:const|let) .*(?:\bmemo\w*[<(]|new HeldValues|\bcreateChunker\b|\bcreateAttachedMap\b|new WeakMap|new Map<[^()]*>\(\)|new Map\(\)$)/m
    const constant = /^(?:export )?const [A-Z_]+\b/
    const found = files
      .filter(({ text }) =>
        text.split('\n').some((line) => cache.test(line) && !constant.test(line)),
      )
      .map((file) => file.path)
    expect(found.toSorted()).toEqual(Object.keys(SHARED_CACHES))
  })
})

describe('errors', () => {
  test('of Gatehouse have a code, and one module reads their text and kind', () => {
    const own = /class \w+ extends Error\b|instanceof Error \? \w+\.(message|name)\b/
    const wrong = files
      .filter(({ path, text }) => path !== 'kit/errors.ts' && own.test(text))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })
})

describe('tests', () => {
  test('are files of at most 500 lines', () => {
    const long = filesOf('test').filter(
      (path) => readFileSync(path, 'utf8').split('\n').length > 501,
    )
    expect(long).toEqual([])
  })
})

const importsOf = (folder: string): readonly string[] =>
  filesOf(folder).flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/\b(?:from|import\()\s*'(\.[^']+)'/g)].map((match) =>
      relative(ROOT, resolve(dirname(path), match[1] ?? '')),
    ),
  )

describe('what tests and benchmarks share', () => {
  test('is in testing: benchmarks import nothing of test', () => {
    expect(importsOf('bench').filter((path) => path.startsWith('test/'))).toEqual([])
  })

  test('imports nothing of src, test and bench', () => {
    expect(importsOf('testing').filter((path) => !path.startsWith('testing/'))).toEqual([])
  })
})
