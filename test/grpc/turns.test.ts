// How much of one connection is read before others get a turn.

import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startGrpcServer } from '../../src/grpc/server.js'
import { PREFACE } from '../../src/http2/protocol.js'
import { data, headers, REQUEST, rst, settings } from '../http2/raw-peer.js'
import { eventually } from '../support/eventually.js'
import { recordingLogger } from './recording-logger.js'

const MESSAGE = Buffer.from([0, 0, 0, 0, 1, 7])
const CALLS = 40_000

test('a client that sends megabytes at once does not hold up the others', async () => {
  const callsOfTurns: number[] = []
  let calls = 0
  let isOver = false
  const turn = (): void => {
    callsOfTurns.push(calls)
    calls = 0
    if (!isOver) setImmediate(turn)
  }
  const server = await startGrpcServer({
    address: { type: 'tcp', host: '127.0.0.1', port: 0 },
    services: [
      {
        name: 'a.Service',
        methods: {
          Echo: { type: 'unary', handle: (request) => ((calls += 1), request) },
        },
      },
    ],
    logger: recordingLogger().logger,
  })
  const fields = [
    ...REQUEST.slice(0, 2),
    [':path', '/a.Service/Echo'],
    ['content-type', 'application/grpc'],
  ] as const
  const call = (id: number): readonly Buffer[] => [
    headers(id, { fields }),
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
