// The listening socket: how many connections it accepts, and how trouble with one affects the others.

import { once } from 'node:events'
import { connect, Server, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { listen, type Listening } from '../../../src/wire/grpc/listen.js'
import { eventually } from '../../../testing/eventually.js'
import { ANY_PORT } from '../../support/any-port.js'
import { recordingLogger } from './recording-logger.js'

const { logger, lines } = recordingLogger()
const accepted: Socket[] = []
let listening: Listening | undefined

afterEach(() => {
  listening?.stopAccepting()
  for (const socket of accepted) socket.destroy()
  accepted.length = 0
  lines.length = 0
})

let refused = 0

async function start(maxConnections: number): Promise<() => Socket> {
  listening = await listen({
    address: ANY_PORT,
    maxConnections,
    logger,
    onRefused: () => void (refused += 1),
    onSocket: (socket) => void accepted.push(socket.on('error', () => {})),
  })
  const [host = '', port] = listening.address.split(':')
  return () => connect(Number(port), host).on('error', () => {})
}

const closed = (socket: Socket): Promise<unknown> => once(socket.resume(), 'close')

test('connections beyond the limit are closed, with one line; another may come when one has gone', async () => {
  const open = await start(3)
  const [first] = [open(), open(), open()]
  await eventually(() => expect(accepted).toHaveLength(3))
  await Promise.all([closed(open()), closed(open())])
  expect(accepted).toHaveLength(3)
  expect(refused).toBe(2)
  expect(lines).toMatchObject([
    {
      level: 'warn',
      fields: { maxConnections: 3 },
      message: 'a connection was refused: too many',
    },
  ])
  first?.destroy()
  await eventually(async () => {
    const late = open()
    await Promise.race([closed(late), eventually(() => expect(accepted).toHaveLength(4))])
    expect(accepted).toHaveLength(4)
  })
})

test('open connections are counted', async () => {
  const open = await start(3)
  const [first] = [open(), open()]
  await eventually(() => expect(listening?.connections()).toBe(2))
  first?.destroy()
  accepted.forEach((socket) => socket.resume())
  await eventually(() => expect(listening?.connections()).toBe(1))
})

test('an error of accepting is logged, and the next connection is taken', async () => {
  const listens = vi.spyOn(Server.prototype, 'listen')
  const open = await start(3)
  const [server] = listens.mock.contexts as Server[]
  listens.mockRestore()
  // As Node does it when the system fails to accept one (accept(2): EPERM, ENOBUFS, ...).
  server?.emit('error', Object.assign(new Error('accept EPERM'), { code: 'EPERM' }))
  open()
  await eventually(() => expect(accepted).toHaveLength(1))
  expect(lines).toMatchObject([{ level: 'warn', message: 'a connection was not accepted' }])
})
