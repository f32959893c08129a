// Services behind an authenticator: calls wait for it, and are refused as it says.

import { connect } from 'node:http2'
import { afterEach, expect, test, vi } from 'vitest'
import { authenticated, type Authenticator } from '../../../src/wire/grpc/authenticated.js'
import type { GrpcServer } from '../../../src/wire/grpc/server.js'
import { startGrpcServer } from '../../../src/wire/grpc/server.js'
import type { GrpcMethod, GrpcService, StreamCall } from '../../../src/wire/grpc/service.js'
import { GrpcError, Status } from '../../../src/wire/grpc/status.js'
import { eventually } from '../../../testing/eventually.js'
import { ANY_PORT } from '../../support/any-port.js'
import { message, outcomeOf } from './call-client.js'
import { recordingLogger } from './recording-logger.js'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Methods that answer with what they receive, and the events of the streaming one. */
function echo(): { readonly service: GrpcService; readonly events: string[] } {
  const events: string[] = []
  const service: GrpcService = {
    name: 'a.Service',
    methods: {
      Unary: { type: 'unary', handle: (request) => Buffer.from(request) },
      Stream: {
        type: 'stream',
        open: (call) => {
          events.push('open')
          return {
            onMessage: (bytes) => {
              events.push(String(bytes))
              call.send(Buffer.from(bytes))
            },
            onEnd: () => call.end(),
            onCancel: () => events.push('cancel'),
            onDrain: () => undefined,
          }
        },
      },
    },
  }
  return { service, events }
}

async function serve(service: GrpcService, authenticator: Authenticator, againMs?: number) {
  const { logger, lines } = recordingLogger()
  const services = [authenticated(service, authenticator, againMs)]
  const server: GrpcServer = await startGrpcServer({ address: ANY_PORT, services, logger })
  const session = connect(`http://${server.address}`)
  closing.push(
    () => server.close(),
    () => session.destroy(),
  )
  const open = (method: string, timeout?: string) =>
    session.request({
      ':method': 'POST',
      ':path': `/a.Service/${method}`,
      te: 'trailers',
      'content-type': 'application/grpc',
      ...(timeout && { 'grpc-timeout': timeout }),
    })
  return { open, lines }
}

/** An authenticator whose answer the test gives. */
function gate() {
  let resolve = (): void => undefined
  let reject = (_reason: Error): void => undefined
  const answer = new Promise<void>((yes, no) => {
    resolve = yes
    reject = no
  })
  // The answer may come before the call.
  answer.catch(() => undefined)
  return {
    authenticator: { admit: () => answer },
    resolve: () => resolve(),
    reject: (reason: Error) => reject(reason),
  }
}

test.each(['Unary', 'Stream'])('a %s call is served at once or after a wait', async (method) => {
  for (const isKnown of [true, false]) {
    const { authenticator, resolve } = gate()
    const { open } = await serve(
      echo().service,
      isKnown ? { admit: () => undefined } : authenticator,
    )
    const call = open(method)
    call.end(message('hello'))
    resolve()
    expect(await outcomeOf(call)).toMatchObject({ status: Status.OK, content: 'hello' })
  }
})

test.each(['Unary', 'Stream'])('a %s call that is refused reaches no service', async (method) => {
  const { service, events } = echo()
  const { authenticator, reject } = gate()
  const { open } = await serve(service, authenticator)
  const call = open(method)
  call.end(message('hello'))
  reject(new GrpcError(Status.UNAUTHENTICATED, 'who are you'))
  expect(await outcomeOf(call)).toMatchObject({
    status: Status.UNAUTHENTICATED,
    message: 'who are you',
    content: '',
  })
  expect(events).toEqual([])
})

test.each(['Unary', 'Stream'])(
  'a %s call that is refused ends before its message is there',
  async (method) => {
    const { authenticator, reject } = gate()
    const { open } = await serve(echo().service, authenticator)
    const [silent, half] = [open(method), open(method)]
    half.write(message('hello').subarray(0, 7))
    reject(new GrpcError(Status.UNAUTHENTICATED, 'who are you'))
    const refused = { status: Status.UNAUTHENTICATED, message: 'who are you' }
    expect(await Promise.all([outcomeOf(silent), outcomeOf(half)])).toMatchObject([
      refused,
      refused,
    ])
  },
)

test.each(['Unary', 'Stream'])(
  'an authenticator that throws ends a %s call alone',
  async (method) => {
    let asked = 0
    const admit = () => {
      asked += 1
      if (asked === 1) throw new Error('secret')
      return undefined
    }
    const { open } = await serve(echo().service, { admit })
    const [failed, next] = [open(method), open(method)]
    for (const call of [failed, next]) call.end(message('hello'))
    expect(await Promise.all([outcomeOf(failed), outcomeOf(next)])).toMatchObject([
      { status: Status.UNKNOWN, message: 'the call failed' },
      { content: 'hello' },
    ])
  },
)

test.each(['Unary', 'Stream'])('a %s call says nothing of an error inside', async (method) => {
  const { authenticator, reject } = gate()
  const { open } = await serve(echo().service, authenticator)
  const call = open(method)
  call.end(message('hello'))
  reject(new Error('secret'))
  expect(await outcomeOf(call)).toMatchObject({
    status: Status.UNKNOWN,
    message: 'the call failed',
  })
})

test('a stream gets all its messages in order after the wait', async () => {
  const { service, events } = echo()
  const { authenticator, resolve } = gate()
  const { open } = await serve(service, authenticator)
  const call = open('Stream')
  for (const each of ['a', 'b', 'c']) call.write(message(each))
  call.end()
  resolve()
  expect((await outcomeOf(call)).status).toBe(Status.OK)
  expect(events).toEqual(['open', 'a', 'b', 'c'])
})

test('a stream that its client cancels during the wait is never opened', async () => {
  const { service, events } = echo()
  const { authenticator, resolve } = gate()
  let admitted = 0
  const { open } = await serve(service, {
    admit: () => {
      admitted += 1
      return authenticator.admit()
    },
  })
  const call = open('Stream')
  call.on('error', () => undefined)
  call.write(message('a'))
  await eventually(() => expect(admitted).toBe(1))
  call.close(8)
  // A second call on the same connection shows that the cancellation has arrived.
  const second = open('Unary')
  second.end(message('b'))
  await eventually(() => expect(admitted).toBe(2))
  resolve()
  expect((await outcomeOf(second)).status).toBe(Status.OK)
  expect(events).toEqual([])
})

test('a unary call that its client cancels, or whose deadline passes, during the wait reaches no service', async () => {
  const { authenticator, resolve } = gate()
  let [admitted, handled] = [0, 0]
  const Unary: GrpcMethod = {
    type: 'unary',
    handle: (request) => {
      handled += 1
      return Buffer.from(request)
    },
  }
  const { open } = await serve(
    { name: 'a.Service', methods: { Unary } },
    {
      admit: () => {
        admitted += 1
        return authenticator.admit()
      },
    },
  )
  const [cancelled, late, waiting] = [open('Unary'), open('Unary', '500m'), open('Unary')]
  cancelled.on('error', () => undefined)
  for (const call of [cancelled, late, waiting]) call.end(message('a'))
  expect((await outcomeOf(late)).status).toBe(Status.DEADLINE_EXCEEDED)
  await eventually(() => expect(admitted).toBe(3))
  cancelled.close(8)
  // A fourth call on the same connection shows that the cancellation has arrived.
  const fourth = open('Unary')
  fourth.end(message('b'))
  await eventually(() => expect(admitted).toBe(4))
  resolve()
  const outcomes = await Promise.all([outcomeOf(waiting), outcomeOf(fourth)])
  expect(outcomes).toMatchObject([{ status: Status.OK }, { status: Status.OK }])
  expect(handled).toBe(2)
})

test('a stream that fails to open after the wait ends with its status', async () => {
  const { authenticator, resolve } = gate()
  const open = (): never => {
    throw new GrpcError(Status.UNAVAILABLE, 'draining')
  }
  const service = { name: 'a.Service', methods: { Stream: { type: 'stream', open } } } as const
  const served = await serve(service, authenticator)
  const call = served.open('Stream')
  call.end(message('a'))
  resolve()
  expect(await outcomeOf(call)).toMatchObject({ status: Status.UNAVAILABLE, message: 'draining' })
})

test('a lasting stream ends once its client is known no longer, and its service is told', async () => {
  const { service, events } = echo()
  const errors: Error[] = []
  let asked = 0
  const admit = () => {
    asked += 1
    return errors[0] && Promise.reject(errors[0])
  }
  const { Stream } = service.methods
  const lasting = { ...service, methods: { Stream: { ...Stream, isLasting: true } as GrpcMethod } }
  const { open } = await serve(lasting, { admit }, 5)
  const call = open('Stream')
  call.write(message('a'))
  await eventually(() => expect(asked).toBeGreaterThan(3))
  expect(events).toEqual(['open', 'a'])
  errors.push(new GrpcError(Status.UNAUTHENTICATED, 'the token has expired'))
  expect(await outcomeOf(call)).toMatchObject({
    status: Status.UNAUTHENTICATED,
    message: 'the token has expired',
  })
  expect(events).toEqual(['open', 'a', 'cancel'])
})

test('the client of a lasting stream is not authenticated again after the end', () => {
  vi.useFakeTimers()
  closing.push(() => vi.useRealTimers())
  let isOver = false
  let asked = 0
  const admit = () => {
    asked += 1
    return undefined
  }
  const [listener, call] = [{ onEnd: () => (isOver = true) }, { isCancelled: () => isOver }]
  const method = { type: 'stream', isLasting: true, open: () => listener } as unknown as GrpcMethod
  const { Stream } = authenticated({ name: 'a', methods: { Stream: method } }, { admit }, 5).methods
  if (Stream?.type !== 'stream') throw new Error('expected a stream')
  const opened = Stream.open(call as StreamCall)
  vi.advanceTimersByTime(10)
  expect([asked, vi.getTimerCount()]).toEqual([3, 1])
  opened.onEnd()
  vi.advanceTimersByTime(5)
  expect([asked, vi.getTimerCount()]).toEqual([3, 0])
})
