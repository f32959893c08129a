// The npm package without a checkout: packed, installed in an empty folder, and its demo run.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { envoyPath } from '../support/envoy.js'

const ROOT = resolve(import.meta.dirname, '../..')

let temporary: string
let folder: string
const started: ChildProcess[] = []

const npm = (cwd: string, ...args: readonly string[]): string =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'gatehouse-package-'))
  folder = join(temporary, 'empty')
  mkdirSync(folder)
  // Without the build before it: the global setup has built, and programs of other files start from dist meanwhile.
  npm(ROOT, 'pack', '--silent', '--ignore-scripts', '--pack-destination', temporary)
  const file = readdirSync(temporary).find((name) => name.endsWith('.tgz')) ?? ''
  // Where the folder above happens to have a package, npm would install there.
  const here = ['--prefix', folder, '--no-audit', '--no-fund', '--no-save']
  npm(folder, 'install', ...here, join(temporary, file))
})

afterAll(async () => {
  for (const { exitCode, signalCode, pid } of started)
    if (exitCode === null && signalCode === null && pid !== undefined) process.kill(-pid, 'SIGKILL')
  await rm(temporary, { recursive: true, force: true })
})

/** npx, in a process group of its own as at a terminal, with a cache that holds nothing of Gatehouse's yet. */
function demo(env: Readonly<Record<string, string>>): {
  child: ChildProcess
  output: () => string
} {
  const flags = ['--port', '0', '--envoy', envoyPath()]
  const child = spawn('npx', ['--no', 'envoy-gatehouse', 'demo', ...flags], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  return { child, output: () => output }
}

test('has the licenses of the packages that are bundled into it', async () => {
  const bundled = 'dist/LICENSES.txt'
  const text = await readFile(join(folder, 'node_modules/envoy-gatehouse', bundled), 'utf8')
  expect(text).toMatch(/^@kubernetes\/client-node \d\S*, Apache-2.0\n\n +Apache License$/m)
  expect(text).toMatch(/^socks \d\S*, MIT\n\nThe MIT License/m)
})

test('says what is missing where the packages of its parties cannot be fetched', async () => {
  const nowhere = {
    XDG_CACHE_HOME: join(temporary, 'cache-offline'),
    npm_config_cache: join(temporary, 'npm-offline'),
    npm_config_registry: 'http://127.0.0.1:9',
    npm_config_fetch_retries: '0',
  }
  const { child, output } = demo(nowhere)
  const [code] = (await once(child, 'close')) as [number]
  expect(code).toBe(1)
  expect(output()).toContain(
    "the demo's identity provider and MCP server are not installed, and npm could not install them",
  )
})

test('runs the demo with its tour, and leaves nothing behind', async () => {
  const { child, output } = demo({ XDG_CACHE_HOME: join(temporary, 'cache') })
  await eventually(() => expect(output()).toContain('Ctrl-C stops everything'), 90_000)
  expect(output()).toContain('Echo: hello through the gateway')
  expect(output()).not.toContain('The tour ends here')
  const ended = once(child, 'close')
  process.kill(-(child.pid ?? 0), 'SIGINT')
  await ended
  expect(output()).toContain('Stopping')
})
