// --workers with `serve`: the transports that Envoys use, and every way in which Gatehouse ends.

import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { json } from '../support/document-server.js'
import { startGatehouse } from '../support/gatehouse.js'
import { bearer, send } from '../support/http.js'
import { isGone } from '../support/processes.js'
import { sign } from '../support/protected-stack.js'
import { startServed } from '../support/served-stack.js'
import { requestChats, requestDocuments } from '../support/short-requests.js'
import { keySet, newKey } from '../support/tokens.js'
import { workersOf } from '../support/workers.js'
import { token, tokenBy, World } from '../support/world.js'

const TWO = ['--workers', '2']

const areGone = (workers: readonly number[]): Promise<void> =>
  eventually(() => expect(workers.filter((pid) => !isGone(pid))).toEqual([]))

test.each(['a Unix socket', 'plain TCP', 'TLS', 'mutual TLS'] as const)(
  'over %s: configuration, checks, guards and documents',
  async (name) => {
    const stack = await startServed(name, { flags: TWO })
    onTestFinished(() => stack.close())
    await stack.startEnvoy()
    const { origin } = stack
    const headers = bearer(await sign(stack.key))
    await eventually(async () => expect((await send(origin, '/api', { headers })).status).toBe(200))
    expect((await send(origin, '/api')).status).toBe(401)
    expect(await requestChats(stack, 100)).toEqual({ 200: 100 })
    expect(await requestDocuments(stack, 200)).toEqual({ 200: 200 })
  },
)

test('SIGTERM: a check that waits for fresh keys gets them, and no worker is left', async (context) => {
  const world = await World.start(context)
  const gatehouse = await world.serve(world.resources, ...TWO)
  await world.startEnvoy()
  await world.works()
  const workers = workersOf(gatehouse)
  const rotated = await newKey('k2')
  const held = world.heldAt('/jwks')
  const waiting = world.statusOf('/mcp', await tokenBy(rotated))
  await held.arrived
  const stopped = gatehouse.stop()
  await eventually(() => expect(gatehouse.log()).toContain('draining'))
  held.release(json(keySet(rotated)))
  expect(await waiting).toBe(200)
  expect([await stopped, workers.length]).toEqual([0, 2])
  await areGone(workers)
})

test('SIGKILL of the main process: its workers end with it, and Envoy answers 503', async (context) => {
  const world = await World.start(context)
  const gatehouse = await world.serve(world.resources, ...TWO)
  await world.startEnvoy()
  await world.works()
  const workers = workersOf(gatehouse)
  await gatehouse.stop('SIGKILL')
  await areGone(workers)
  await eventually(async () => expect(await world.statusOf('/mcp')).toBe(503))
})

test('a main process that hangs: workers decide by what they have, and refuse what they would have to ask for', async (context) => {
  const world = await World.start(context)
  const gatehouse = await world.serve(world.resources, ...TWO)
  await world.startEnvoy()
  await world.works()
  const rotated = await newKey('k2')
  world.idp.serve('/jwks', keySet(rotated))
  gatehouse.child.kill('SIGSTOP')
  try {
    expect(await world.statusOf('/mcp', token)).toBe(200)
    expect(await world.statusOf('/mcp')).toBe(401)
    expect(await world.statusOf('/mcp', await tokenBy(rotated))).toBe(503)
  } finally {
    gatehouse.child.kill('SIGCONT')
  }
  await eventually(async () =>
    expect(await world.statusOf('/mcp', await tokenBy(rotated))).toBe(200),
  )
})

test('an unusable certificate is reported at the start', async () => {
  const missing = ['--grpc-tls-cert', '/nowhere/tls.crt', '--grpc-tls-key', '/nowhere/tls.key']
  const gatehouse = await startGatehouse({
    command: 'serve',
    resources: [],
    flags: [...TWO, '--grpc', '127.0.0.1:0', ...missing],
    unready: true,
  })
  onTestFinished(() => gatehouse.close())
  expect(await gatehouse.ended()).toBe(1)
  expect(gatehouse.log()).toMatch(/worker \d did not start: \/nowhere\/tls.crt: no such file/)
})
