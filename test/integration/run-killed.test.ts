// `gatehouse run` and `demo` killed abruptly: nothing remains, and the next one serves.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { startBackend } from '../support/backend.js'
import { envoyPath } from '../support/envoy.js'
import { send } from '../support/http.js'
import { descendantsOf, isGone } from '../support/processes.js'
import { program, temporaryFolder } from '../support/program.js'
import { gateway, httpRoute, proxyBackend, rule, toYaml } from '../support/resources.js'

interface Started {
  readonly child: ChildProcess
  output(): string
}

/** A command with a folder for temporary files of its own, and whatever it leaves is ended with the test. */
function start(temporary: string, args: readonly string[], environment: object = {}): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: temporary, ...environment },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, output: () => output }
}

/** A signal; the processes below it at that moment. */
async function end({ child }: Started, signal: NodeJS.Signals): Promise<readonly number[]> {
  const below = descendantsOf(child.pid ?? 0)
  onTestFinished(() => below.filter((pid) => !isGone(pid)).forEach((pid) => process.kill(pid, 9)))
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
  return below
}

const nothingIsLeft = (temporary: string, below: readonly number[]) =>
  eventually(() => {
    expect(below.filter((pid) => !isGone(pid))).toEqual([])
    expect(readdirSync(temporary)).toEqual([])
  })

async function gatewayWithRoute() {
  const [temporary, resources, port] = [
    await temporaryFolder(),
    await temporaryFolder(),
    await freePort(),
  ]
  const backend = await startBackend()
  onTestFinished(() => backend.close())
  const route = httpRoute('open', { rules: [rule('/open', 'backend')] })
  const documents = [gateway([port]), proxyBackend('backend', backend), route]
  writeFileSync(join(resources, 'all.yaml'), toYaml(...documents))
  const admin = ['--admin', '127.0.0.1:0', '--listen-address', '127.0.0.1']
  const args = ['run', '--resources', resources, ...admin, '--envoy', envoyPath()]
  const serves = () =>
    eventually(async () => {
      const { status } = await send(`http://127.0.0.1:${String(port)}`, '/open')
      expect(status).toBe(200)
    })
  return { temporary, args, serves }
}

const envoyOf = (started: Started): Promise<number> =>
  eventually(() => {
    const [, pid] = /"pid":(\d+),"msg":"Envoy is serving"/.exec(started.output()) ?? []
    expect(pid).toBeDefined()
    return Number(pid)
  })

test('SIGKILL, ten times: the next run serves, no process and no folder is left', async () => {
  const { temporary, args, serves } = await gatewayWithRoute()
  for (let time = 1; time <= 10; time++) {
    const run = start(temporary, args)
    // Not by an answer alone: it may be one of the Envoy before, which is just being ended.
    await envoyOf(run)
    await serves()
    expect(readdirSync(temporary)).toHaveLength(1)
    const below = await end(run, 'SIGKILL')
    // Envoy and the keeper of it.
    expect(below.length).toBeGreaterThanOrEqual(2)
    if (time === 10) await nothingIsLeft(temporary, below)
  }
})

test('what a run left whose keeper was killed too is ended and removed by the next', async () => {
  const { temporary, args, serves } = await gatewayWithRoute()
  const run = start(temporary, args)
  const envoy = await envoyOf(run)
  await serves()
  // Stopped: it would replace its keeper.
  run.child.kill('SIGSTOP')
  for (const pid of descendantsOf(run.child.pid ?? 0))
    if (pid !== envoy) process.kill(pid, 'SIGKILL')
  await end(run, 'SIGKILL')
  const left = readdirSync(temporary)
  expect([left.length, isGone(envoy)]).toEqual([1, false])
  const next = start(temporary, args)
  await envoyOf(next)
  await serves()
  expect(isGone(envoy)).toBe(true)
  expect(readdirSync(temporary)).not.toContain(left[0])
  await nothingIsLeft(temporary, await end(next, 'SIGTERM'))
})

test('a keeper that was killed is replaced', async () => {
  const { temporary, args, serves } = await gatewayWithRoute()
  const run = start(temporary, args)
  const envoy = await envoyOf(run)
  await serves()
  const keepers = () => descendantsOf(run.child.pid ?? 0).filter((pid) => pid !== envoy)
  const first = keepers()
  for (const pid of first) process.kill(pid, 'SIGKILL')
  await eventually(() => {
    // Asked once: between two questions the killed one may vanish.
    const [now, ...more] = keepers()
    expect([first.includes(now ?? 0), more]).toEqual([false, []])
    expect(now).toBeDefined()
  })
  await nothingIsLeft(temporary, await end(run, 'SIGKILL'))
})

test('the folder of a run that lives is left alone by others', async () => {
  const one = await gatewayWithRoute()
  const run = start(one.temporary, one.args)
  await one.serves()
  const [own] = readdirSync(one.temporary)
  const other = await gatewayWithRoute()
  const beside = start(one.temporary, other.args)
  await other.serves()
  expect(readdirSync(one.temporary)).toContain(own)
  await end(beside, 'SIGTERM')
  expect(readdirSync(one.temporary)).toEqual([own])
  await one.serves()
  await nothingIsLeft(one.temporary, await end(run, 'SIGTERM'))
})

test.each([
  ['run', 'SIGTERM'],
  ['run', 'SIGKILL'],
  ['demo', 'SIGINT'],
  ['demo', 'SIGKILL'],
] as const)(
  '%s, %s while an Envoy hangs at --version: it ends at once',
  async (command, signal) => {
    const { temporary, args } = await gatewayWithRoute()
    const flags = command === 'run' ? args.slice(1, -2) : ['--port', '0']
    const hanging = start(temporary, [command, ...flags, '--envoy', await program('sleep 1000')])
    await eventually(() => expect(descendantsOf(hanging.child.pid ?? 0).length).toBeGreaterThan(2))
    const below = await end(hanging, signal)
    if (signal !== 'SIGKILL') expect(hanging.child.exitCode).toBe(0)
    expect(hanging.output()).not.toContain('"level":"error"')
    await nothingIsLeft(temporary, below)
  },
)

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'run, %s while pip installs Envoy: it ends at once, and so does pip',
  async (signal) => {
    const { temporary, args } = await gatewayWithRoute()
    const [bin, cache] = [await temporaryFolder(), await temporaryFolder()]
    writeFileSync(join(bin, 'python3'), '#!/bin/sh\n/bin/sleep 1000\n', { mode: 0o755 })
    const environment = { PATH: bin, XDG_CACHE_HOME: cache, ENVOY_PATH: '' }
    const installing = start(temporary, args.slice(0, -2), environment)
    await eventually(() => expect(installing.output()).toContain('installing Envoy'))
    await eventually(() =>
      expect(descendantsOf(installing.child.pid ?? 0).length).toBeGreaterThan(2),
    )
    const below = await end(installing, signal)
    if (signal === 'SIGTERM') expect(installing.child.exitCode).toBe(0)
    await nothingIsLeft(temporary, below)
  },
)
