// How much of one connection, and of all of them, is handled before others get a turn.

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startGrpcServer } from '../../../src/wire/grpc/server.js'
import { PREFACE } from '../../../src/wire/http2/protocol.js'
import { eventually } from '../../../testing/eventually.js'
import { data, headers, REQUEST, rst, settings } from '../http2/raw-peer.js'
import { recordingLogger } from './recording-logger.js'

const MESSAGE = Buffer.from([0, 0, 0, 0, 1, 7])
const CALLS = 40_000

const startServer = (onCall: (request: Uint8Array) => void): ReturnType<typeof startGrpcServer> =>
  startGrpcServer({
    address: { type: 'tcp', host: '127.0.0.1', port: 0 },
    services: [
      {
        name: 'a.Service',
        methods: {
          Echo: { type: 'unary', handle: (request) => (onCall(request), request) },
        },
      },
    ],
    logger: recordingLogger().logger,
  })

const CALL_FIELDS = [
  ...REQUEST.slice(0, 2),
  [':path', '/a.Service/Echo'],
  ['content-type', 'application/grpc'],
] as const

test('a client that sends megabytes at once does not hold up the others', async () => {
  const callsOfTurns: number[] = []
  let calls = 0
  let isOver = false
  const turn = (): void => {
    callsOfTurns.push(calls)
    calls = 0
    if (!isOver) setImmediate(turn)
  }
  const server = await startServer(() => (calls += 1))
  const call = (id: number): readonly Buffer[] => [
    headers(id, { fields: CALL_FIELDS }),
    data(id, MESSAGE, true),
    rst(id),
  ]
  const size = Buffer.concat(call(1)).length
  const ids = Array.from({ length: CALLS }, (_, at) => 2 * at + 1)
  const socket = connect(Number(server.address.split(':')[1]), '127.0.0.1').resume()
  await once(socket, 'connect')
  setImmediate(turn)
  socket.write(Buffer.concat([PREFACE, settings(), ...ids.flatMap(call)]))
  const served = (): number => callsOfTurns.reduce((sum, own) => sum + own, 0)
  await eventually(() => expect(served()).toBe(CALLS), 15_000)
  isOver = true
  expect(Math.max(...callsOfTurns) * size).toBeLessThan(200_000)
  socket.destroy()
  await server.close()
})

test('a hundred clients that send at once are handled in several turns, and all are answered', async () => {
  const CLIENTS = 100
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0xea, 0x60]), Buffer.alloc(60_000)])
  const bytesOfTurns: number[] = []
  let bytes = 0
  let isOver = false
  const turn = (): void => {
    bytesOfTurns.push(bytes)
    bytes = 0
    if (!isOver) setImmediate(turn)
  }
  const server = await startServer((request) => (bytes += request.length))
  const sockets = Array.from({ length: CLIENTS }, () =>
    connect(Number(server.address.split(':')[1]), '127.0.0.1'),
  )
  for (const socket of sockets) socket.write(Buffer.concat([PREFACE, settings()]))
  // The server's SETTINGS: it has accepted the connection.
  await Promise.all(sockets.map((socket) => once(socket, 'data')))
  setImmediate(turn)
  const frames = [0, 15_000, 30_000, 45_000].map((from) =>
    data(1, message.subarray(from, from + 15_000), false),
  )
  const request = Buffer.concat([
    headers(1, { fields: CALL_FIELDS }),
    ...frames,
    data(1, message.subarray(60_000), true),
  ])
  for (const socket of sockets) socket.write(request)
  const handled = (): number => bytesOfTurns.reduce((sum, own) => sum + own, 0)
  await eventually(() => expect(handled()).toBe(CLIENTS * 60_000), 15_000)
  isOver = true
  expect(Math.max(...bytesOfTurns)).toBeLessThan(1_000_000)
  for (const socket of sockets) socket.destroy()
  await server.close()
})
