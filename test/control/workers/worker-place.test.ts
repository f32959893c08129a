// The place of a worker: a worker that ends or hangs is replaced; one that never starts is reported.

import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  type CountersFile,
  createCountersFile,
} from '../../../src/control/workers/shared-counters.js'
import { WorkerPlace } from '../../../src/control/workers/worker-place.js'
import { eventually } from '../../../testing/eventually.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

const READY = `process.on('disconnect', () => process.exit())
process.on('message', ({ type }) => type === 'start' && process.send({ type: 'ready' }))
`
const { logger, lines } = recordingLogger()

let folder: string
let counters: CountersFile
let seen: string[]
let place: WorkerPlace

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-place-'))
  counters = createCountersFile(1)
  seen = []
  lines.length = 0
})

afterEach(async () => {
  place.close()
  await eventually(() => expect(place.pid).toBeUndefined())
  counters.close()
  rmSync(folder, { recursive: true })
})

/** A worker whose program is this. */
function start(program: string): void {
  const file = join(folder, 'program.mjs')
  writeFileSync(file, program)
  place = new WorkerPlace(1, {
    program: pathToFileURL(file),
    counters: () => counters.fd,
    logger,
    // What it says does not matter to a program that looks at its type alone.
    first: () => [[{ type: 'start', start: undefined as never }]],
    onMessage: () => undefined,
    onReady: () => void seen.push('ready'),
    onGone: () => void seen.push('gone'),
    onRestart: () => void seen.push('restart'),
    onHopeless: (why) => void seen.push(`hopeless: ${why}`),
  })
  place.start()
}

test('one that is killed is replaced', async () => {
  start(READY)
  await eventually(() => expect(seen).toEqual(['ready']))
  process.kill(place.pid ?? 0, 'SIGKILL')
  await eventually(() => expect(seen).toEqual(['ready', 'gone', 'restart', 'ready']))
  expect(lines).toMatchObject([
    {
      level: 'error',
      fields: { worker: 1, why: 'killed by SIGKILL', restartInMs: 200 },
      message: 'a worker exited; restarting it',
    },
  ])
})

test('one that answers no question any more is ended, and replaced', async () => {
  start(READY)
  await eventually(() => expect(seen).toEqual(['ready']))
  for (let asked = 0; asked <= 15; asked += 1) place.ping()
  await eventually(() => expect(seen).toEqual(['ready', 'gone', 'restart', 'ready']))
  expect(lines).toMatchObject([{ fields: { why: 'it did not answer' } }])
})

test('one that is killed before it takes its sockets: all are closed', async () => {
  start(READY)
  await eventually(() => expect(seen).toEqual(['ready']))
  const pid = place.pid ?? 0
  process.kill(pid, 'SIGSTOP')
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    place.post({ type: 'socket', listener: 0 }, socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clients = [1, 2, 3].map(() => connect(port, '127.0.0.1').on('error', () => undefined))
  const closed = clients.map((client) => once(client, 'close'))
  let accepted = 0
  server.on('connection', () => (accepted += 1))
  await eventually(() => expect(accepted).toBe(clients.length))
  process.kill(pid, 'SIGKILL')
  await Promise.all(closed)
  server.close()
})

test('one that never starts is not retried, and its reason is reported', async () => {
  start(`process.on('message', () =>
    process.send({ type: 'failed', message: 'no certificate' }, () => process.exit(1)))`)
  await eventually(() => expect(seen).toEqual(['gone', 'hopeless: no certificate']))
})
