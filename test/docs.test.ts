// Machine-checkable claims of the documents: links, named tests, scripts, the README's policy.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { reportCheck } from '../src/cli/commands/check.js'
import { translateOffline } from '../src/cli/commands/offline.js'
import { kindsOf } from '../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../src/control/sources/files/file-record.js'
import { commandNames } from '../src/ops/settings/commands.js'
import { flagName, FLAGS, flagsOf } from '../src/ops/settings/flags.js'
import { parseCommandLine } from '../src/ops/settings/settings.js'
import { fences } from './support/documented-yaml.js'
import {
  API_GROUP,
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  rule,
  toYaml,
} from './support/resources.js'

const ROOT = resolve(import.meta.dirname, '..')
const PAGES = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'deploy/helm/gatehouse/README.md',
  ...PAGES.map((name) => `docs/${name}`),
  ...readdirSync(join(ROOT, 'docs/providers')).map((name) => `docs/providers/${name}`),
]
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

test.each(DOCUMENTS)('every link of %s leads somewhere', (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link)
  const missing = links.filter((link) => !existsSync(join(ROOT, dirname(document), link ?? '')))
  expect(missing).toEqual([])
})

/** The anchor of a heading, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

function anchorsOf(document: string): readonly string[] {
  const text = read(document)
  const headings = [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    anchorOf(heading),
  )
  return [...headings, ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id)]
}

test.each(DOCUMENTS)('every link of %s to a heading finds it', (document) => {
  const links = [...read(document).matchAll(/\]\((?!https?:)([^)#]*\.md)?#([^)]+)\)/g)]
  const missing = links
    .map(([, path, anchor = '']) => ({
      target: path === undefined ? document : join(dirname(document), path),
      anchor,
    }))
    .filter(({ target, anchor }) => !anchorsOf(target).includes(anchor))
  expect(missing).toEqual([])
})

test('the index names every page', () => {
  const index = read('docs/README.md')
  const pages = PAGES.filter((name) => name !== 'README.md')
  expect(pages.filter((name) => !index.includes(`](${name})`))).toEqual([])
})

/** Flags of Node, Docker and Helm, and those of every command. */
const FLAGS_OF_OTHERS = new Set([
  '--build-arg',
  '--expose-gc',
  '--heap-growing-percent',
  '--help',
  '--max-semi-space-size',
  '--no-allocation-site-pretenuring',
  '--no-memory-reducer-favors-memory',
  '--skip-crds',
  '--version',
])
const flagNames = new Set(Object.keys(FLAGS).map((key) => `--${flagName(key)}`))

test.each(DOCUMENTS)('every command and flag of Gatehouse that %s names is there', (document) => {
  const text = read(document)
  const lines = text.replaceAll(/\\\n\s*/g, ' ')
  const commands = [
    ...lines.matchAll(
      /(?:^ *\$? *|`|npx envoy-|npm run |dist\/)gatehouse (?:-- )?([a-z]+)([^`\n|]*)/gm,
    ),
  ]
  const unknown = commands.flatMap(([whole, command = '', rest = '']) => {
    if (command === 'help') return []
    const name = commandNames.find((known) => known === command)
    if (name === undefined) return [whole]
    const known = new Set(flagsOf(name).map((key) => `--${flagName(key)}`))
    return [...rest.matchAll(/(?<!\S)(--[a-z-]+)/g)]
      .map(([, flag = '']) => flag)
      .filter((flag) => !known.has(flag) && !FLAGS_OF_OTHERS.has(flag))
  })
  expect(unknown).toEqual([])
  const inline = [...text.matchAll(/`(--[a-z-]+)[^`]*`/g)].map(([, flag = '']) => flag)
  expect(inline.filter((flag) => !flagNames.has(flag) && !FLAGS_OF_OTHERS.has(flag))).toEqual([])
})

test.each(DOCUMENTS)('the YAML of %s is YAML, and its resources decode', (document) => {
  const kinds = kindsOf(API_GROUP)
  const known = new Set(kinds.map(({ kind }) => kind))
  const problems = fences(document, 'yaml').flatMap((text) =>
    parseAllDocuments(text).flatMap((parsed) => {
      if (parsed.errors.length > 0) return parsed.errors.map(({ message }) => message)
      const value: unknown = parsed.toJS()
      const isResource =
        typeof value === 'object' &&
        value !== null &&
        'apiVersion' in value &&
        'kind' in value &&
        known.has(value.kind as string)
      if (!isResource) return []
      const file = decodeFile(Buffer.from(JSON.stringify(value)), document, kinds)
      return file.problems.map(({ message }) => message)
    }),
  )
  expect(problems).toEqual([])
})

test.each(DOCUMENTS)(
  'every npm script and every path of src that %s names is there',
  (document) => {
    const text = read(document)
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const run = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '')
    const paths = [...text.matchAll(/`((?:src|test|config|proto)\/[\w./-]+)`/g)].map(([, p]) => p)
    expect(run.filter((name) => scripts[name] === undefined)).toEqual([])
    expect(paths.filter((path) => !existsSync(join(ROOT, path ?? '')))).toEqual([])
  },
)

test.each([
  ['specification-coverage', 100],
  ['failures', 15],
])('every test that %s names is there', (document, atLeast) => {
  const text = read(`docs/${document}.md`)
  const named = [...text.matchAll(/`([^`]+\.(?:test\.ts|yaml))`(?: "([^"]+)")?/g)]
  const missing = named.filter(([, file = '', title = '']) => {
    const path = `test/${file}`
    return !existsSync(join(ROOT, path)) || !read(path).includes(title)
  })
  expect(named.length).toBeGreaterThan(atLeast)
  expect(missing.map(([reference]) => reference)).toEqual([])
})

test('every room of src has its line in the architecture', () => {
  const text = read('docs/architecture.md')
  const rooms = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map(({ parentPath }) => relative(ROOT, parentPath))
    .filter((room) => room !== 'src' && !room.includes('/generated'))
  expect([...new Set(rooms)].filter((room) => !text.includes(`\`${room}\``))).toEqual([])
})

test('each file of a walk of the architecture imports another of it, or is imported by one', () => {
  const page = read('docs/architecture.md')
  const walks = page.slice(page.indexOf('## Three walks'), page.indexOf('## A streamed reply'))
  const begins = walks.split(/^\*\*/m).slice(1)
  expect(begins).toHaveLength(3)
  const strays = begins.flatMap((walk) => {
    const named = new Set([...walk.matchAll(/`(src\/[\w/-]+\.ts)`/g)].map(([, path = '']) => path))
    const links = [...named].flatMap((path) =>
      [...read(path).matchAll(/from '(\.[^']+)\.js'/g)]
        .map(([, to = '']) => `${relative(ROOT, resolve(ROOT, dirname(path), to))}.ts`)
        .filter((to) => named.has(to))
        .map((to) => [path, to]),
    )
    return [...named].filter((path) => !links.flat().includes(path))
  })
  expect(strays).toEqual([])
})

test('the policies of the README do what it describes', async () => {
  const policies = [...read('README.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, text]) => text,
  )
  const around = toYaml(
    gateway([8080]),
    proxyBackend('idp', { host: 'idp.example', port: 443 }),
    proxyBackend('mcp', { host: '127.0.0.1', port: 3001 }),
    mcpRoute('mcp', 'mcp'),
    proxyBackend('llm', { host: '127.0.0.1', port: 4000 }),
    httpRoute('llm', { rules: [rule('/v1', 'llm')] }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'guardrail' },
      spec: { ports: [{ port: 8000 }] },
    },
  )
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-readme-'))
  await writeFile(join(folder, 'around.yaml'), around)
  await writeFile(join(folder, 'policies.yaml'), policies.join('---\n'))
  const line = parseCommandLine(['check', folder], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  const offline = await translateOffline(line.settings)
  await rm(folder, { recursive: true })
  expect(reportCheck(offline, line.settings).text).not.toMatch(/: error: /)
  expect(offline.translation.ir.authz).toMatchObject([
    {
      jwt: { mode: 'Strict', forwardToken: false, providers: [{ audiences: ['mcp-client'] }] },
      challenge: { paths: { mcpPath: '/mcp' } },
      authorization: { allow: ['"mcp-users" in jwt.groups'] },
    },
  ])
  const webhook = { backend: 'service/default/guardrail/8000', failureMode: 'FailClosed' }
  expect(offline.translation.ir.proc.filter(({ type }) => type === 'guard')).toMatchObject([
    { route: 'default/llm', request: [webhook], response: [webhook] },
  ])
})
