// The screen that `gatehouse run` and `gatehouse serve` show at start-up: on a terminal, once, and nowhere else.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { envoyPath } from '../support/envoy.js'
import { startGatehouse } from '../support/gatehouse.js'
import { type McpParties, startMcpParties } from '../support/mcp-parties.js'
import { temporaryFolder } from '../support/program.js'
import { allow, httpRoute, proxyPolicy, rule, toYaml } from '../support/resources.js'

const TERMINAL = resolve(import.meta.dirname, '../support/python/terminal.py')
const RULE = '"mcp-users" in jwt.groups'

let parties: McpParties

beforeAll(async () => {
  parties = await startMcpParties()
})
afterAll(() => parties.close())

interface OnTerminal {
  readonly child: ChildProcess
  readonly folder: string
  /** Everything written to the terminal; stderr is separate. */
  shown(): string
  log(): Promise<string>
}

/** Starts a command on a terminal of 40 rows. */
async function onTerminal(
  command: 'run' | 'serve',
  documents: readonly object[],
  {
    flags = [],
    columns = 100,
    ...environment
  }: {
    readonly flags?: readonly string[]
    readonly columns?: number
    readonly NO_COLOR?: string
  },
): Promise<OnTerminal> {
  const folder = await temporaryFolder()
  const log = join(await temporaryFolder(), 'log')
  await writeFile(join(folder, 'resources.yaml'), toYaml(...documents))
  const args = [process.execPath, MAIN, command, '--resources', folder, '--admin', '127.0.0.1:0']
  const child = spawn('python3', [TERMINAL, String(columns), '40', ...args, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '', ...environment, LOG: log },
  })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill()
    await ended
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  return { child, folder, shown: () => shown, log: () => readFile(log, 'utf8') }
}

/** A route without a policy, to the MCP server. */
const publicRoute = (path: string): object =>
  httpRoute(path.slice(1), { rules: [rule(path, 'backend')] })

const pageOf = (screen: string): string =>
  /status page.*(http:\/\/127\.0\.0\.1:\d+\/)/.exec(screen)?.[1] ?? 'no page'

const timesShown = (text: string): number => text.split('Gatehouse serves configuration').length - 1

test('run shows what is served, where and what is open, once', async () => {
  const port = await freePort()
  const documents = [...parties.resources(port, RULE), publicRoute('/public')]
  const flags = ['--envoy', envoyPath(), '--listen-address', '127.0.0.1']
  const started = await onTerminal('run', documents, { flags })
  await eventually(() => {
    expect(started.shown()).toContain('gatehouse explain --admin')
  }, 30_000)
  const screen = started.shown()
  expect(screen).toContain(`  ${String(port)}`)
  expect(screen).toContain('Envoy admin')
  expect(screen).toContain('\u001b[33mOpen routes (1): no policy decides who may use them\u001b[0m')
  expect(screen).toMatch(/default\/public .*open.*\*\/public/)
  expect(screen).toMatch(/default\/mcp .*token, rules, login.*\*\/mcp/)
  expect(screen.indexOf('default/public')).toBeLessThan(screen.indexOf('default/mcp'))

  const page = pageOf(screen)
  await eventually(async () => {
    expect((await fetch(`${page}readyz`)).status).toBe(200)
  }, 30_000)
  const draft = join(started.folder, '.draft')
  await writeFile(draft, toYaml(publicRoute('/more')))
  await rename(draft, join(started.folder, 'more.yaml'))
  await eventually(async () => {
    expect(await (await fetch(`${page}metrics`)).text()).toMatch(/^gatehouse_open_routes 2$/m)
  })
  started.child.kill('SIGTERM')
  expect(await once(started.child, 'exit')).toEqual([0, null])
  expect(timesShown(started.shown())).toBe(1)
})

test('serve shows it without colours where NO_COLOR is set, and the log stays on stderr', async () => {
  const documents = parties.resources(await freePort(), RULE)
  const flags = ['--grpc', '127.0.0.1:0']
  const started = await onTerminal('serve', documents, { flags, NO_COLOR: '1' })
  await eventually(() => {
    expect(started.shown()).toContain('gatehouse explain --admin')
  }, 30_000)
  expect(started.shown()).toMatch(/gRPC +127\.0\.0\.1:[1-9]/)
  expect(started.shown()).toContain('No open routes, no problems')
  expect(started.shown()).not.toContain('\u001b')
  expect(await started.log()).toContain('"configuration published"')
})

test.each([40, 80])(
  '%i columns, many routes: open ones and problems come first, and no line is wider',
  async (columns) => {
    const routes = Array.from({ length: 60 }, (_, index) => publicRoute(`/public-${String(index)}`))
    const broken = proxyPolicy('broken', 'mcp', { authorization: allow('jwt.sub ==') })
    const documents = [...parties.resources(await freePort(), RULE), ...routes, broken]
    const flags = ['--grpc', '127.0.0.1:0']
    const started = await onTerminal('serve', documents, { flags, columns, NO_COLOR: '1' })
    await eventually(() => {
      expect(started.shown()).toContain('gatehouse explain --admin')
    }, 30_000)
    const screen = started.shown().replaceAll('\r', '')
    const headings = ['Listeners', 'Open routes (60)', 'Problems (', 'Other routes (', 'Next']
    const places = headings.map((heading) => screen.indexOf(`\n${heading}`))
    expect(places).toEqual(places.toSorted((a, b) => a - b))
    expect(places).not.toContain(-1)
    expect(screen).toContain('ProxyPolicy default/broken')
    const [before = ''] = screen.split('\nNext')
    expect(before.split('\n').filter((line) => line.length > columns)).toEqual([])
    expect(screen.split('\n').length).toBeLessThan(60)
  },
)

test('where stdout is no terminal, nothing is shown', async () => {
  const gatehouse = await startGatehouse({
    command: 'serve',
    resources: parties.resources(await freePort(), RULE),
    flags: ['--grpc', '127.0.0.1:0'],
  })
  onTestFinished(() => gatehouse.close())
  expect(await gatehouse.stop()).toBe(0)
  expect(gatehouse.log()).toContain('configuration published')
  expect(gatehouse.output()).toBe('')
})
