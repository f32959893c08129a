// The table of docs/clients.md names the versions that are installed, and shows an outcome wherever a test compares one.

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { matrixHead, matrixRows, stepUpHead, stepUpRows } from './support/clients/matrix.js'

const ROOT = resolve(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

/** Version of a package, as package.json pins it. */
function pinned(path: string, name: string): string {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(read(path)) as Record<
    string,
    Record<string, string> | undefined
  >
  return { ...dependencies, ...devDependencies }[name] ?? ''
}

const minor = (version: string): string => version.split('.').slice(0, 2).join('.')
const found = (path: string, pattern: RegExp): string => pattern.exec(read(path))?.[1] ?? ''

const PARTIES = 'test/parties/package.json'

test('the rows are the clients, with their versions', () => {
  const python = found('test/support/python/requirements.txt', /^mcp==(\S+)/m)
  expect(matrixRows().map(([name]) => name)).toEqual([
    `TypeScript ${minor(pinned('package.json', '@modelcontextprotocol/sdk'))}`,
    `TypeScript ${minor(pinned('package.json', '@modelcontextprotocol/client'))}`,
    `Python ${python.split('.')[0] ?? ''}.x (\`mcp\` ${minor(python)})`,
    `Inspector ${minor(pinned(PARTIES, '@modelcontextprotocol/inspector'))}, Chromium`,
    `conformance ${pinned(PARTIES, '@modelcontextprotocol/conformance')}`,
    'a person in Chromium',
  ])
})

test('the columns are the providers, with their versions, and the modes', () => {
  const oidcProvider = `oidc-provider ${minor(pinned('package.json', 'oidc-provider'))}`
  const keycloak = `Keycloak ${minor(found('scripts/test-parties.mjs', /KEYCLOAK = '(.*)'/))}`
  const modes = ['Gateway', 'Provider', 'Relay'].map((mode) => `\`${mode}\``)
  expect(matrixHead().slice(1)).toEqual(
    [oidcProvider, keycloak].flatMap((provider) => modes.map((mode) => `${provider}, ${mode}`)),
  )
})

test('every client has an outcome with Provider and Relay, and the TypeScript clients with Gateway', () => {
  const isRun = matrixRows().map((cells) => cells.slice(1).map((cell) => cell !== '–'))
  const [every, some] = [
    [true, true, true, true, true, true],
    [false, true, true, false, true, true],
  ]
  expect(isRun).toEqual([every, every, some, some, some, some])
})

test('the table of step-ups has the same clients and providers, each with an outcome', () => {
  const clients = matrixRows().slice(0, 4)
  // The Inspector was not run with an id at a provider.
  const run = ['ok', 'ok', 'ok', 'ok']
  const expected = [run, run, run, ['–', 'ok', '–', 'ok']]
  for (const [index, [name = '', ...outcomes]] of stepUpRows().entries()) {
    expect(name.startsWith(clients[index]?.[0] ?? '-')).toBe(true)
    expect(outcomes).toEqual(expected[index])
  }
  expect(stepUpRows()).toHaveLength(clients.length)
  expect(stepUpHead().slice(1)).toEqual(
    matrixHead()
      .slice(1)
      .filter((column) => !column.includes('Gateway')),
  )
})
