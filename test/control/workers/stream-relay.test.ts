// A stream of the main process that a worker relays: messages both ways in order, with backpressure and ends like those
// of a connection.

import { beforeEach, expect, test } from 'vitest'
import type { StreamToMain, StreamToWorker } from '../../../src/control/workers/messages.js'
import {
  createRelayedService,
  type RelayedService,
} from '../../../src/control/workers/relayed-service.js'
import { StreamRelay } from '../../../src/control/workers/stream-relay.js'
import type { GrpcService, StreamCall, StreamListener } from '../../../src/wire/grpc/service.js'
import { GrpcError, Status } from '../../../src/wire/grpc/status.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

const { logger } = recordingLogger()
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** What the client received, and what the service did. */
let seen: string[]
let takes: boolean
let opened: StreamCall
let client: StreamListener
let worker: RelayedService
let main: StreamRelay
let onMessage: (message: string, call: StreamCall) => void

const service: GrpcService = {
  name: 'ads',
  methods: {
    Stream: {
      type: 'stream',
      open: (call) => {
        opened = call
        return {
          onMessage: (message) => onMessage(text(message), call),
          onEnd: () => void seen.push('service: end'),
          onCancel: () => void seen.push('service: cancelled'),
          onDrain: () => void seen.push('service: drained'),
        }
      },
    },
  },
}

beforeEach(() => {
  seen = []
  takes = true
  onMessage = (message, call) => call.send(Buffer.from(`${message}!`))
  const toWorker = (message: StreamToWorker): void => worker.receive(structuredClone(message))
  const toMain = (message: StreamToMain): void => main.receive(structuredClone(message))
  main = new StreamRelay([service], toWorker, logger)
  let streams = 0
  worker = createRelayedService(
    { name: 'ads', methods: ['Stream', 'Gone'] },
    toMain,
    () => (streams += 1),
  )
  client = openAt('Stream')
})

function openAt(name: string): StreamListener {
  const method = worker.service.methods[name]
  if (method?.type !== 'stream') throw new Error('no stream')
  return method.open({
    peer: { type: 'tcp', address: '10.0.0.1', hasCertificate: true },
    deadline: 7,
    isCancelled: () => false,
    metadata: (name) => [`value of ${name}`],
    send(message) {
      seen.push(`client: ${text(message).slice(0, 20)}`)
      return takes
    },
    sendParts: () => expect.unreachable('a message in parts'),
    end: (status, details) => void seen.push(`client: status ${String(status)} ${details ?? ''}`),
    pause: () => void seen.push('client: paused'),
    resume: () => void seen.push('client: resumed'),
  })
}

test('messages go both ways, and the service knows whose they are', () => {
  client.onMessage(Buffer.from('a'))
  client.onMessage(Buffer.from('b'))
  client.onEnd()
  expect(seen).toEqual(['client: a!', 'client: b!', 'service: end'])
  expect([opened.peer, opened.deadline]).toEqual([
    { type: 'tcp', address: '10.0.0.1', hasCertificate: true },
    7,
  ])
})

test('of the headers, the service sees the token of an Envoy alone', () => {
  expect(opened.metadata('x-gatehouse-token')).toEqual(['value of x-gatehouse-token'])
  expect(opened.metadata('authorization')).toEqual([])
})

test('the service ends it, with its status', () => {
  onMessage = (_message, call) => call.end(Status.NOT_FOUND, 'nothing')
  client.onMessage(Buffer.from('a'))
  client.onMessage(Buffer.from('b'))
  expect(seen).toEqual([`client: status ${String(Status.NOT_FOUND)} nothing`])
  expect(opened.isCancelled()).toBe(true)
})

test('a service that throws ends it: by its status, else without saying why', () => {
  onMessage = () => {
    throw new GrpcError(Status.INVALID_ARGUMENT, 'not this')
  }
  client.onMessage(Buffer.from('a'))
  const other = openAt('Stream')
  onMessage = () => {
    throw new Error('a secret')
  }
  other.onMessage(Buffer.from('a'))
  expect(seen.filter((line) => line.startsWith('client'))).toEqual([
    `client: status ${String(Status.INVALID_ARGUMENT)} not this`,
    `client: status ${String(Status.UNKNOWN)} the call failed`,
  ])
})

test('the client disconnects, or its worker ends: the service is notified once', () => {
  client.onCancel()
  main.close()
  openAt('Stream')
  main.close()
  expect(seen).toEqual(['service: cancelled', 'service: cancelled'])
})

test('a client that does not read holds the service back', () => {
  takes = false
  expect(opened.send(Buffer.alloc(200 * 1024, 'x'))).toBe(true)
  expect(opened.send(Buffer.alloc(200 * 1024, 'y'))).toBe(false)
  seen.length = 0
  client.onDrain()
  expect(seen).toEqual(['service: drained'])
})

test('a service that is busy holds the client back, and loses nothing', () => {
  const got: string[] = []
  onMessage = (message, call) => {
    got.push(message)
    if (message === 'a') call.pause()
  }
  for (const message of ['a', 'b', 'c']) client.onMessage(Buffer.from(message))
  expect([got, seen]).toEqual([['a'], ['client: paused']])
  opened.resume()
  expect([got, seen]).toEqual([
    ['a', 'b', 'c'],
    ['client: paused', 'client: resumed'],
  ])
})

test('a method that there is not', () => {
  openAt('Gone')
  expect(seen).toEqual([`client: status ${String(Status.UNIMPLEMENTED)} no such method`])
})

test('a drain ends what is open, never with OK', () => {
  void worker.service.drain?.(1000)
  expect(seen).toEqual([
    'service: cancelled',
    `client: status ${String(Status.UNAVAILABLE)} shutting down`,
  ])
})
