// Checks the structure of the code: allowed imports between folders, libraries with a single importer, no cycles, no
// barrels, no default exports, and size limits. It reads import lines and runs no code.

import { dirname, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DOORS, MAY_IMPORT } from './support/import-table.js'
import {
  importLine,
  type SourceFile,
  sourceFiles as files,
  SRC as src,
} from './support/source-files.js'

/** Library → the only place that imports it. */
const FENCES: Record<string, string> = {
  '@marcbachmann/cel-js': 'extauthz/cel/',
  '@bufbuild/re2': 'extauthz/cel/',
  '@kubernetes/client-node': 'control/sources/kubernetes/',
  zod: 'control/schema/',
  'prom-client': 'ops/admin/',
  '@opentelemetry': 'ops/telemetry/',
}

/** "./x.js" as seen from a file of src → "folder/x.ts", relative to src. */
function target(file: SourceFile, from: string): string {
  return relative(src, resolve(src, dirname(file.path), from)).replace(/\.js$/, '.ts')
}

/** The row of MAY_IMPORT that a file of src falls under: its own folder, or the nearest one above it that has a row. */
function roomOf(path: string): string {
  if (!path.includes('/')) return path
  let folder = dirname(path)
  while (folder.includes('/') && MAY_IMPORT[folder] === undefined) folder = dirname(folder)
  return folder
}

const isLocal = (from: string): boolean => from.startsWith('.')

function forbiddenImports(file: SourceFile): string[] {
  const own = roomOf(file.path)
  const allowed = MAY_IMPORT[own]
  if (allowed === undefined) return [`${file.path}: src/${own} is not in the import table`]
  return file.imports
    .filter(({ from }) => isLocal(from))
    .map(({ from }) => target(file, from))
    .filter((to) => {
      const other = roomOf(to)
      return (
        other !== own && !allowed.includes('*') && !allowed.includes(other.replace(/\.ts$/, ''))
      )
    })
    .map((to) => `${file.path} imports ${to}`)
}

describe('imports', () => {
  test('follow the table', () => {
    expect(files.flatMap(forbiddenImports)).toEqual([])
  })

  test('of the table point in one direction: no room names a room below it in the list', () => {
    const rooms = Object.keys(MAY_IMPORT).map((room) => room.replace(/\.ts$/, ''))
    const upward = Object.entries(MAY_IMPORT).flatMap(([room, allowed], floor) =>
      allowed
        .filter((other) => other !== '*' && rooms.indexOf(other) > floor)
        .map((other) => `${room} may import ${other}`),
    )
    expect(upward).toEqual([])
  })

  test('each fenced library has one importer', () => {
    const wrong = files.flatMap((file) =>
      file.imports
        .map(({ from }) => from)
        .filter((from) => {
          const [scope = '', name = ''] = from.split('/')
          const fence = FENCES[scope.startsWith('@') ? `${scope}/${name}` : scope] ?? FENCES[scope]
          return fence !== undefined && !file.path.startsWith(fence)
        })
        .map((from) => `${file.path} imports ${from}`),
    )
    expect(wrong).toEqual([])
  })

  test('of the telemetry are dynamic: a process without a collector does not load it', () => {
    const wrong = files
      .filter(({ path }) => !path.startsWith('ops/telemetry/'))
      .filter(({ text }) =>
        [...text.matchAll(importLine)].some(
          ([, , type, from = '']) => type === undefined && from.includes('/telemetry/'),
        ),
      )
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })

  test('process is touched by the programs alone, process.env by settings.ts', () => {
    const programs = [
      'main.ts',
      'worker-main.ts',
      'cli/run-envoy/keeper-main.ts',
      'control/sources/files/reader-main.ts',
    ]
    const wrong = files
      .filter((file) => ![...programs, 'ops/settings/settings.ts'].includes(file.path))
      .filter((file) => /(^|[^.\w/-])process\.\w/m.test(withoutComments(file.text)))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })

  test('make no cycle', () => {
    expect(findCycle()).toEqual([])
  })
})

describe('files', () => {
  test('stand behind the doors, the programs of both planes aside', () => {
    const top = new Set(files.map(({ path }) => path.split('/')[0] ?? ''))
    expect([...top].sort()).toEqual([...DOORS, 'main.ts', 'worker-main.ts'].sort())
  })

  test('are at most 25 in a folder', () => {
    const folders = files.map(({ path }) => dirname(path))
    const full = new Set(
      folders.filter((folder) => folders.filter((f) => f === folder).length > 25),
    )
    expect([...full]).toEqual([])
  })

  test('have no default export and are no barrels', () => {
    const wrong = files
      .filter(({ text }) => /^export default|^export \*|^export (?:type )?\{/m.test(text))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })

  test('are at most 500 lines long', () => {
    const long = files
      .map((file) => ({ path: file.path, lines: file.text.split('\n').length }))
      .filter(({ lines }) => lines > 500)
    expect(long).toEqual([])
  })

  test('begin with a comment about their purpose', () => {
    const silent = files
      .filter(({ text }) => !/^(#!.*\n)?\/[/*]/.test(text))
      .map((file) => file.path)
    expect(silent).toEqual([])
  })
})

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
}

/** The first cycle of imports, those of types included, as a list of files; empty when there is none. */
function findCycle(): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): string[] => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
    if (done.has(path)) return []
    const file = byPath.get(path)
    for (const { from } of file?.imports ?? []) {
      if (!isLocal(from) || file === undefined) continue
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
