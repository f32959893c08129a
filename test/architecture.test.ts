// Checks the structure of the code: allowed imports between folders, libraries with a single importer, no cycles, no
// barrels, no default exports, and size limits. It reads import lines and runs no code.

import { dirname, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  importLine,
  type SourceFile,
  sourceFiles as files,
  SRC as src,
} from './support/source-files.js'

const BASE = [
  'result',
  'utf8',
  'errors',
  'logger',
  'log-limit',
  'decision-log',
  'tracing',
  'similar',
]

/**
 * Room (a folder, or a file at the top of src) → the rooms that it may import beside itself. Rooms stand in the order of
 * their floors: none imports one that stands below it here. Anything else is an error.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  'result.ts': [],
  'errors.ts': [],
  'logger.ts': [],
  'log-limit.ts': [],
  'tracing.ts': [],
  'decision-log.ts': ['log-limit', 'tracing'],
  'similar.ts': [],
  'request-id.ts': [],
  'ending.ts': [],
  'turn-line.ts': [],
  'turns.ts': ['ending', 'turn-line'],
  'utf8.ts': ['turns'],
  'pem.ts': ['turns', 'errors'],
  'byte-collector.ts': [],
  'own-text.ts': [],
  'own-files.ts': [],
  incremental: ['turns'],
  ir: [],
  'status-client': [],
  addresses: [],
  json: ['turns', 'result', 'utf8', 'errors'],
  cel: ['json', 'ir', 'result', 'errors', 'turns', 'turn-line'],
  mcp: ['json', 'turns', 'result', 'utf8', 'errors'],
  oauth: ['ir', 'result'],
  probes: [],
  'oauth/relay': ['oauth', 'ir', 'result'],
  http2: ['errors'],
  grpc: ['http2', 'pem', 'result', 'errors', 'logger', 'log-limit'],
  'remote/connect': ['own-files', 'addresses', 'ir', 'errors'],
  remote: [
    ...['remote/connect', 'byte-collector', 'ir', 'ending', 'result', 'errors', 'logger'],
    'tracing',
  ],

  'llm/text': ['json', 'ir', 'own-text', 'turns', 'utf8'],
  'mcp/texts': ['mcp', 'llm/text', 'json', 'own-text', 'turns', 'result'],
  'llm/framing': ['turns', 'result', 'utf8'],
  'llm/apis': ['llm/text', 'json', 'turns'],
  'llm/windows': ['llm/framing', 'llm/text', 'json', 'own-text', 'turns'],
  llm: ['llm/apis', 'llm/framing', 'llm/text', 'json', 'ir', 'own-text', 'turns', 'result'],

  'resources/kinds': ['ir'],
  'resources/decode': ['resources/kinds', 'incremental', 'ir', 'turns', ...BASE],
  'resources/crd': ['resources/kinds', 'ir'],
  'resources/files': [
    'own-files',
    'resources/decode',
    'resources/kinds',
    'incremental',
    'turns',
    ...BASE,
  ],
  'resources/kubernetes': [
    ...['resources/decode', 'resources/kinds', 'incremental', 'ir', 'turns', ...BASE],
  ],

  'gatewayapi/world': [
    ...['resources/kinds', 'addresses', 'incremental', 'ir', 'pem', 'turns', 'result'],
  ],
  'gatewayapi/listeners': [
    ...['gatewayapi/world', 'resources/kinds', 'addresses', 'incremental', 'ir', 'turns', 'result'],
  ],
  'gatewayapi/backends': [
    ...['gatewayapi/world', 'resources/kinds'],
    ...['addresses', 'incremental', 'ir', 'oauth', 'turns', 'result'],
  ],
  'gatewayapi/policies': [
    ...['gatewayapi/backends', 'gatewayapi/listeners', 'gatewayapi/world', 'resources/kinds'],
    ...['incremental', 'ir', 'cel', 'oauth', 'result', 'turns'],
  ],
  'gatewayapi/routes': [
    ...['gatewayapi/policies', 'gatewayapi/backends', 'gatewayapi/listeners', 'gatewayapi/world'],
    ...['resources/kinds', 'incremental', 'ir', 'cel', 'oauth', 'turns', 'result'],
  ],
  'gatewayapi/status': [
    ...['gatewayapi/routes', 'gatewayapi/policies', 'gatewayapi/backends', 'gatewayapi/listeners'],
    ...['gatewayapi/world', 'resources/kinds', 'incremental', 'ir', 'turns', 'similar'],
  ],
  gatewayapi: [
    'gatewayapi/policies',
    ...['gatewayapi/status', 'gatewayapi/routes', 'gatewayapi/backends', 'gatewayapi/listeners'],
    'gatewayapi/world',
    ...['resources/kinds', 'incremental', 'ir', 'turns'],
  ],

  export: ['ir'],
  'export/envoy-gateway': ['export', 'incremental', 'ir', 'result'],

  'xds/encode': ['grpc', 'incremental', 'ir', 'turns', 'errors'],
  'xds/translator': ['xds/encode', 'grpc', 'incremental', 'ir', 'turns'],
  'xds/bootstrap': ['xds/translator', 'xds/encode', 'grpc', 'ir'],
  'export/istio': ['export', 'xds/translator', 'xds/encode', 'grpc', 'incremental', 'ir', 'result'],
  provision: ['resources/kubernetes', 'xds/bootstrap', 'grpc', 'ir', 'turns', 'errors'],
  controller: [
    ...['export', 'export/envoy-gateway', 'export/istio', 'resources/kubernetes', 'incremental'],
    ...['resources/kinds', 'probes', 'addresses', 'cel', 'ir', 'turns', 'result', 'errors'],
  ],
  'xds/server': ['xds/encode', 'grpc', 'incremental', ...BASE],

  rules: ['cel', 'mcp', 'json', 'ir', 'turns'],

  routing: ['xds/translator', 'cel', 'grpc', 'ir', 'result', 'turns'],

  extauthz: [
    'probes',
    'rules',
    'ir',
    'incremental',
    'cel',
    'mcp',
    'json',
    'oauth',
    'grpc',
    'turns',
    'request-id',
    ...BASE,
  ],

  'extproc/encodings': ['result'],
  'extproc/stream': ['ir', 'cel', 'oauth', 'grpc', 'ending', 'errors', 'request-id', 'turns'],
  'extproc/relay': ['extproc/stream', 'oauth/relay', 'oauth', 'ir', 'remote', 'result'],
  'extproc/well-known': [
    ...['extproc/relay', 'extproc/stream', 'oauth/relay', 'oauth', 'addresses'],
    ...['ir', 'grpc', 'remote', 'ending', 'decision-log'],
  ],
  'extproc/lists': [
    ...['extproc/stream', 'rules', 'mcp', 'json', 'cel', 'ir'],
    ...['turns', 'ending', 'result', 'utf8', 'byte-collector', 'decision-log'],
  ],
  'extproc/webhook': [
    'extproc/stream',
    ...['remote', 'remote/connect', 'incremental'],
    ...['mcp', 'llm/text', 'json', 'own-text', 'ir', 'cel', 'ending', 'turns', ...BASE],
  ],
  'extproc/streamed': [
    ...['extproc/webhook', 'extproc/stream', 'extproc/encodings'],
    ...['llm', 'llm/windows', 'llm/framing', 'llm/text', 'cel', 'ending'],
    ...['turns', 'result', 'errors'],
  ],
  'extproc/guard': [
    ...['extproc/streamed', 'extproc/webhook', 'extproc/stream', 'extproc/encodings'],
    ...['llm', 'llm/text', 'json', 'ir', 'cel', 'oauth', 'grpc', 'ending', 'errors', 'turns'],
    ...['utf8', 'byte-collector'],
  ],
  'extproc/mcp': [
    ...['extproc/guard', 'extproc/lists', 'extproc/webhook', 'extproc/stream'],
    ...['mcp/texts', 'mcp', 'llm/framing', 'llm/text', 'json', 'ir', 'cel', 'rules'],
    ...['ending', 'turns', 'utf8', 'result'],
  ],
  extproc: [
    ...[
      'extproc/mcp',
      'extproc/guard',
      'extproc/lists',
      'extproc/webhook',
      'extproc/well-known',
      'extproc/relay',
      'extproc/stream',
    ],
    ...['probes', 'rules', 'cel', 'ir', 'incremental', 'turns', 'grpc', 'remote', ...BASE],
  ],

  explain: [
    ...['xds/translator', 'extauthz', 'routing', 'rules', 'resources/kinds', 'cel', 'oauth'],
    ...['extproc/guard', 'extproc/mcp', 'extproc/relay', 'extproc/well-known', 'extproc/stream'],
    ...['ending', 'grpc', 'ir', 'turns', ...BASE],
  ],
  snapshot: [
    ...['xds/encode', 'xds/server', 'xds/translator', 'extauthz', 'extproc'],
    ...['ir', 'incremental', 'turns', 'result', 'logger'],
  ],
  settings: ['addresses', 'result'],
  'settings.ts': ['settings', 'result', 'similar'],
  telemetry: ['settings', 'decision-log', 'tracing'],
  admin: ['own-files', 'ir', 'incremental', 'settings', 'result', 'errors', 'logger', 'turns'],
  envoy: ['own-files', 'ir', 'result', 'errors', 'logger'],
  workers: [
    'own-files',
    ...['snapshot', 'settings', 'admin', 'extauthz', 'extproc', 'extproc/stream', 'grpc', 'remote'],
    ...['ir', 'incremental', 'errors', 'logger', 'log-limit', 'turns'],
  ],
  'app/memory': ['extproc/stream', 'admin', 'settings'],
  'app/exports': ['own-files', 'telemetry', 'admin', 'settings', ...BASE],
  'app/outbound': [
    ...['gatewayapi/world', 'admin', 'settings', 'remote', 'remote/connect', 'addresses'],
    ...['incremental', 'ir', 'logger', 'tracing'],
  ],
  'app/servers': [
    ...['workers', 'admin', 'settings', 'snapshot', 'xds/server', 'extauthz', 'extproc'],
    ...['extproc/webhook', 'extproc/stream', 'cel', 'probes', 'ir', 'grpc', 'remote', ...BASE],
  ],
  'app/pipeline': [
    ...['app/outbound', 'snapshot', 'settings', 'gatewayapi', 'xds/translator'],
    ...['resources/decode', 'resources/kinds', 'incremental', 'ir', 'turns', 'ending', ...BASE],
  ],
  'app/cluster': [
    ...[...BASE, 'app/pipeline', 'app/outbound', 'settings', 'controller', 'provision', 'export'],
    ...['gatewayapi/status', 'gatewayapi/routes', 'gatewayapi/world', 'resources/kubernetes'],
    ...['resources/decode', 'resources/kinds', 'probes', 'incremental', 'ir', 'pem', 'turns'],
  ],
  'app/report': [
    ...['app/cluster', 'app/pipeline', 'app/servers', 'admin', 'settings', 'snapshot', 'explain'],
    ...['xds/translator', 'resources/decode', 'resources/kinds', 'remote', 'incremental', 'ir'],
    ...['provision', 'turns', ...BASE],
  ],
  'app/run': ['app/servers', 'settings', 'envoy', 'xds/bootstrap', 'xds/translator', ...BASE],
  app: ['*'],
  'app.ts': ['*'],
  'demo/idp': [],
  demo: [
    ...['own-files', 'demo/idp', 'app', 'app/run', 'settings', 'logger'],
    ...['result', 'errors', 'envoy', 'resources/kinds', 'ir'],
  ],
  commands: ['*'],
  'worker-main.ts': ['app', 'workers', 'logger', 'errors'],
  'main.ts': ['own-files', 'commands', 'settings', 'logger', 'result', 'errors'],
}

/** Library → the only place that imports it. */
const FENCES: Record<string, string> = {
  '@marcbachmann/cel-js': 'cel/',
  '@bufbuild/re2': 'cel/',
  '@kubernetes/client-node': 'resources/kubernetes/',
  zod: 'resources/',
  'prom-client': 'admin/',
  '@opentelemetry': 'telemetry/',
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
      .filter(({ path }) => !path.startsWith('telemetry/'))
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
      ...['main.ts', 'worker-main.ts', 'envoy/keeper-main.ts'],
      'resources/files/reader-main.ts',
    ]
    const wrong = files
      .filter((file) => ![...programs, 'settings.ts'].includes(file.path))
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
      .filter(({ text }) => /^export default|^export \*|^export (?:type )?\{/m.test(text))
      .map((file) => file.path)
    expect(wrong).toEqual([])
  })

  test('are at most 300 lines long', () => {
    const long = files
      .map((file) => ({ path: file.path, lines: file.text.split('\n').length }))
      .filter(({ lines }) => lines > 300)
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
