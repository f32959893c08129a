// The decision log on the standard output: a socket, as in containers and below systemd, a pipe or a file, shared with
// Envoy's access log.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { protectedRoute, provider } from '../support/protected-stack.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { type Stack, type StackOptions, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const jwtAuthentication = { providers: [provider([key], { audiences: ['api'] })] }

let backend: Backend
let folder: string

beforeAll(async () => {
  backend = await startBackend()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-outputs-'))
})
afterAll(async () => {
  await backend.close()
  await rm(folder, { recursive: true })
})

async function start(options: Omit<StackOptions, 'resources'>): Promise<Stack> {
  const stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('one', { jwtAuthentication }),
    ],
    ...options,
  })
  onTestFinished(() => stack.close())
  return stack
}

const OUTPUT = ['--decision-log-file', '/dev/stdout']

/** Waits for the line about a refusal, among whole lines of JSON. */
async function untilLogged(text: () => Promise<string> | string): Promise<void> {
  await eventually(async () => {
    const lines = (await text()).split('\n').filter((line) => line !== '')
    const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(parsed).toContainEqual(
      expect.objectContaining({ msg: 'decision', reason: 'no-token', path: '/one' }),
    )
  })
}

test.each([1, 2])('%i processes: a socket', async (workers) => {
  const stack = await start({ flags: [...OUTPUT, '--workers', String(workers), '--access-log'] })
  expect((await send(stack.origin, '/one')).status).toBe(401)
  await untilLogged(() => stack.output())
  // A line that belongs there comes after whatever the refusal would leave.
  await stack.writeText('broken.yaml', 'kind: [')
  await eventually(() => expect(stack.log()).toContain('broken.yaml'))
  expect(stack.log()).not.toContain('no-token')
})

test.each(['/dev/stderr', '/dev/fd/2'])('%s, which is a socket', async (path) => {
  const stack = await start({ flags: ['--decision-log-file', path, '--log-level', 'warn'] })
  expect((await send(stack.origin, '/one')).status).toBe(401)
  await untilLogged(() => stack.log())
})

test.each([1, 2])('%i processes: a file, in which nobody overwrites lines', async (workers) => {
  const path = join(folder, `output-${String(workers)}`)
  const stdout = openSync(path, 'w')
  const flags = [...OUTPUT, '--workers', String(workers), '--access-log']
  const stack = await start({ flags, stdout })
  closeSync(stdout)
  expect((await send(stack.origin, '/one')).status).toBe(401)
  await untilLogged(() => readFile(path, 'utf8'))
  // Envoy writes behind the decision, and the next decision behind that.
  await eventually(async () => {
    expect(await readFile(path, 'utf8')).toContain('"details":"ext_authz_denied"')
  }, 30_000)
  expect((await send(stack.origin, '/one/again')).status).toBe(401)
  expect(await stack.stop()).toBe(0)
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n')
  expect(lines.map((line) => typeof JSON.parse(line))).toEqual(lines.map(() => 'object'))
  await untilLogged(() => readFile(path, 'utf8'))
})

test('a pipe', async () => {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = new Socket({ fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) })
  let text = ''
  reader.on('data', (data) => (text += data.toString()))
  const stdout = openSync(path, 'w')
  const stack = await start({ flags: OUTPUT, stdout })
  closeSync(stdout)
  expect((await send(stack.origin, '/one')).status).toBe(401)
  await untilLogged(() => text)
  reader.destroy()
})

test('a reader that leaves: requests are still decided, and the log reports the error', async () => {
  const stack = await start({ flags: OUTPUT })
  stack.child.stdout?.destroy()
  expect((await send(stack.origin, '/one')).status).toBe(401)
  await eventually(() => expect(stack.log()).toMatch(/"path":"\/dev\/stdout","problem":".*EPIPE/))
  expect((await send(stack.origin, '/one')).status).toBe(401)
  expect(await stack.stop()).toBe(0)
})

test('a reader that takes nothing holds up neither requests nor the end', async () => {
  const stack = await start({ flags: [...OUTPUT, '--decision-log', 'all'] })
  stack.child.stdout?.pause()
  for (let count = 0; count < 100; count += 1)
    expect((await send(stack.origin, `/one/${'x'.repeat(200)}`)).status).toBe(401)
  expect(await stack.stop()).toBe(0)
})

test('with workers, which do not have them, other descriptors are an error', async () => {
  const flags = ['--decision-log-file', '/dev/fd/7', '--workers', '2']
  const stack = await start({ flags, unready: true })
  expect(await stack.ended()).toBe(1)
  expect(stack.log()).toContain('--decision-log-file: /dev/fd/7 is not open in workers; use a path')
})
