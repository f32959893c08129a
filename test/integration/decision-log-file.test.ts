// The decision log in a file: through an Envoy, from one process and from several, across a rotation and on a full disk.

import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { send } from '../support/http.js'
import { protectedRoute, provider } from '../support/protected-stack.js'
import { gateway, proxyBackend } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const key = await newKey('one')
const jwtAuthentication = { providers: [provider([key], { audiences: ['api'] })] }

let backend: Backend
let folder: string
let stack: Stack | undefined

beforeAll(async () => {
  backend = await startBackend()
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-decisions-'))
})
afterAll(async () => {
  await backend.close()
  await rm(folder, { recursive: true })
})

async function withStack(flags: readonly string[], use: (own: Stack) => Promise<void>) {
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      ...protectedRoute('one', { jwtAuthentication }),
      ...protectedRoute('two', { jwtAuthentication }),
    ],
    flags,
  })
  try {
    await use(stack)
  } finally {
    await stack.close()
  }
}

/** Waits until the file has a line about the path, and returns it. */
const lineIn = (file: string, path: string): Promise<Record<string, unknown>> =>
  eventually(async () => {
    const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.includes(path))
    return JSON.parse(lines[0] ?? '') as Record<string, unknown>
  })

test.each([1, 2])(
  '%i processes: lines are in the file alone, and in a new one',
  async (workers) => {
    const file = join(folder, `decisions-${String(workers)}.log`)
    const flags = ['--decision-log-file', file, '--workers', String(workers), '--log-level', 'warn']
    await withStack(flags, async (own) => {
      expect((await send(own.origin, '/one')).status).toBe(401)
      expect(await lineIn(file, '"/one"')).toMatchObject({
        level: 'info',
        msg: 'decision',
        decision: 'deny',
        reason: 'no-token',
        path: '/one',
        ...(workers > 1 && { worker: expect.any(Number) as number }),
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string,
      })
      await rename(file, `${file}.1`)
      expect((await send(own.origin, '/two')).status).toBe(401)
      expect(await lineIn(file, '"/two"')).toMatchObject({ route: 'default/two' })
      // A line that belongs there comes after whatever the refusals would leave.
      await own.writeText('broken.yaml', 'kind: [')
      await eventually(() => expect(own.log()).toContain('broken.yaml'))
      expect(own.log()).not.toContain('no-token')
      expect(await own.metrics()).toMatch(
        /gatehouse_exported_total\{[^}]*to="file"[^}]*result="sent"[^}]*\} 2/,
      )
    })
  },
)

test.each([1, 2])('%i processes: the end of a flood is told when they stop', async (workers) => {
  const file = join(folder, `flood-${String(workers)}.log`)
  await withStack(['--decision-log-file', file, '--workers', String(workers)], async (own) => {
    for (let count = 0; count < 20; count += 1) await send(own.origin, '/one')
    expect(await own.stop()).toBe(0)
  })
  const lines = (await readFile(file, 'utf8')).trim().split('\n')
  const told = lines.map((line) => {
    const { msg, leftOut } = JSON.parse(line) as { msg: string; leftOut: number }
    return leftOut + (msg === 'decision' ? 1 : 0)
  })
  expect(told.reduce((sum, one) => sum + one)).toBe(20)
  expect(lines.length).toBeLessThan(20)
})

test('on a full disk, requests are still decided, and the log reports the error', async () => {
  await withStack(['--decision-log-file', '/dev/full'], async (own) => {
    for (let count = 0; count < 5; count += 1)
      expect((await send(own.origin, '/one')).status).toBe(401)
    await eventually(() => expect(own.log()).toMatch(/"path":"\/dev\/full","problem":"ENOSPC/))
    expect((await send(own.origin, '/one')).status).toBe(401)
    expect(await own.stop()).toBe(0)
  })
})

test('a path that cannot be opened ends the start', async () => {
  const file = join(folder, 'missing', 'decisions.log')
  const own = await startStack({
    resources: (port) => [gateway([port])],
    flags: ['--decision-log-file', file],
    unready: true,
  })
  expect(await own.ended()).toBe(1)
  expect(own.log()).toContain(`--decision-log-file: ${file} cannot be opened for appending: ENOENT`)
  await own.close()
})
