// Holds the shape of the code: which folder may import which, who alone may import a library, no cycles, no
// barrels, no default exports, and the size limits. It reads import lines; nothing of the code is run.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const src = join(root, 'src')

/** Folder (or file) of src → what it may import besides itself. Anything else is an error. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  'result.ts': [],
  'log-limit.ts': [],
  'logger.ts': [],
  'similar.ts': [],
  ir: [],
  cel: ['result', 'ir'],
  llm: ['result', 'ir'],
  oauth: ['ir', 'result'],
  resources: ['ir', 'result', 'logger', 'similar'],
  gatewayapi: ['resources', 'ir', 'cel', 'oauth', 'result'],
  remote: ['ir', 'result', 'logger'],
  grpc: ['result', 'logger'],
  'xds/translator': ['ir', 'xds'],
  xds: ['grpc', 'ir', 'result', 'logger', 'log-limit'],
  extauthz: ['ir', 'cel', 'oauth', 'grpc', 'result', 'logger', 'log-limit'],
  extproc: ['ir', 'cel', 'llm', 'oauth', 'grpc', 'remote', 'result', 'logger', 'log-limit'],
  snapshot: ['ir', 'xds', 'xds/translator', 'extauthz', 'extproc', 'result', 'logger'],
  admin: ['ir', 'result', 'logger', 'settings'],
  envoy: ['ir', 'xds', 'result', 'logger'],
  'settings.ts': ['settings', 'result', 'similar'],
  settings: ['result'],
  demo: ['app', 'settings', 'logger', 'result', 'envoy', 'resources', 'ir'],
  commands: ['*'],
  app: ['*'],
  'app.ts': ['*'],
  'main.ts': ['commands', 'settings', 'logger', 'result'],
}

/** The ADS server and its cache serve bytes: they know neither the model nor the translation. */
const XDS_SERVER = ['xds/ads-server.ts', 'xds/snapshot-cache.ts', 'xds/subscription.ts']

/** Library → the only place that imports it. */
const FENCES: Record<string, string> = {
  '@marcbachmann/cel-js': 'cel/',
  '@bufbuild/re2': 'cel/',
  fzstd: 'extproc/encodings/zstd-decoder',
  jose: 'extauthz/',
  '@kubernetes/client-node': 'resources/kubernetes-',
  zod: 'resources/',
  'prom-client': 'admin/',
}

interface SourceFile {
  readonly path: string
  readonly text: string
  readonly imports: readonly { readonly from: string; readonly typeOnly: boolean }[]
}

const importLine = /^(import|export)\s(type\s)?(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]/gm

const files: readonly SourceFile[] = readdirSync(src, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((path) => !path.includes('/generated/'))
  .map((path) => {
    const text = readFileSync(path, 'utf8')
    const imports = [...text.matchAll(importLine)].map((match) => ({
      typeOnly: match[2] !== undefined,
      from: match[3] ?? '',
    }))
    return { path: relative(src, path), text, imports }
  })

/** "./x.js" as seen from a file of src → "folder/x.ts", relative to src. */
function target(file: SourceFile, from: string): string {
  return relative(src, resolve(src, dirname(file.path), from)).replace(/\.js$/, '.ts')
}

/** The row of MAY_IMPORT that a file of src falls under. */
function area(path: string): string {
  if (path.startsWith('xds/translator/')) return 'xds/translator'
  return path.includes('/') ? (path.split('/')[0] ?? '') : path
}

const isLocal = (from: string): boolean => from.startsWith('.')

function forbiddenImports(file: SourceFile): string[] {
  const own = area(file.path)
  const allowed = MAY_IMPORT[own]
  if (allowed === undefined) return [`${file.path}: src/${own} is not in the import table`]
  return file.imports
    .filter(({ from }) => isLocal(from))
    .map(({ from }) => target(file, from))
    .filter((to) => {
      const other = area(to)
      if (other === own || allowed.includes('*')) return false
      if (own === 'xds' && other === 'xds/translator') return XDS_SERVER.includes(file.path)
      return !allowed.includes(other.replace(/\.ts$/, ''))
    })
    .map((to) => `${file.path} imports ${to}`)
}

describe('imports', () => {
  test('follow the table', () => {
    expect(files.flatMap(forbiddenImports)).toEqual([])
  })

  test('the ADS server and its cache know neither the model nor the translation', () => {
    const wrong = files
      .filter((file) => XDS_SERVER.includes(file.path))
      .flatMap((file) => file.imports.map(({ from }) => target(file, from)))
      .filter((to) => to.startsWith('ir/') || to.startsWith('xds/translator/'))
    expect(wrong).toEqual([])
  })

  test('each fenced library has one importer', () => {
    const wrong = files.flatMap((file) =>
      file.imports
        .map(({ from }) => from)
        .filter((from) => {
          const name = from.startsWith('@')
            ? from.split('/').slice(0, 2).join('/')
            : from.split('/')[0]
          const fence = FENCES[name ?? '']
          return fence !== undefined && !file.path.startsWith(fence)
        })
        .map((from) => `${file.path} imports ${from}`),
    )
    expect(wrong).toEqual([])
  })

  test('process is touched by main.ts alone, process.env by settings.ts', () => {
    const wrong = files
      .filter((file) => !['main.ts', 'settings.ts'].includes(file.path))
      .filter((file) => /(^|[^.\w/-])process\.\w/m.test(withoutComments(file.text)))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })

  test('make no cycle', () => {
    expect(findCycle()).toEqual([])
  })
})

describe('files', () => {
  test('have no default export and are no barrels', () => {
    const wrong = files
      .filter(({ text }) => /^export default|^export \* from|^export \{[^}]*\} from/m.test(text))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })

  test('are at most 300 lines long', () => {
    const long = files
      .map((file) => ({ path: file.path, lines: file.text.split('\n').length }))
      .filter(({ lines }) => lines > 300)
    expect(long).toEqual([])
  })

  test('open with a comment that says what they are for', () => {
    const silent = files
      .filter(({ text }) => !/^(#!.*\n)?\/[/*]/.test(text))
      .map((file) => file.path)
    expect(silent).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
}

/** The first cycle of value imports, as a list of files; empty when there is none. */
function findCycle(): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): string[] => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
    if (done.has(path)) return []
    const file = byPath.get(path)
    for (const { from, typeOnly } of file?.imports ?? []) {
      if (typeOnly || !isLocal(from) || file === undefined) continue
      const cycle = visit(target(file, from), [...trail, path])
      if (cycle.length > 0) return cycle
    }
    done.add(path)
    return []
  }
  for (const path of byPath.keys()) {
    const cycle = visit(path, [])
    if (cycle.length > 0) return cycle
  }
  return []
}
