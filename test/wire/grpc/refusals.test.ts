// Calls whose client takes an error for consent: a method may answer with a refusal in place of an error, or before one.

import { describe, expect, test } from 'vitest'
import { authenticated } from '../../../src/wire/grpc/authenticated.js'
import type { GrpcMethod, StreamListener, UnaryMethod } from '../../../src/wire/grpc/service.js'
import { GrpcError, Status } from '../../../src/wire/grpc/status.js'
import { ask, endAfterEach, message, nothing, open, outcomeOf, serve } from './call-client.js'

endAfterEach()

const NO = Buffer.from('no')
const TOO_LARGE = Buffer.from('000210000061', 'hex')

describe('a unary call', () => {
  const method: UnaryMethod = {
    type: 'unary',
    handle: (request) => {
      const text = request.toString()
      if (text === 'bug') throw new Error('a bug')
      if (text === 'other') throw new GrpcError(Status.UNAVAILABLE, 'ask another replica')
      return new Promise(() => undefined)
    },
    refuse: (error) =>
      error instanceof GrpcError && error.status === Status.UNAVAILABLE ? undefined : NO,
  }

  test.each<[string, Buffer, Record<string, string>]>([
    ['a handler throws', message('bug'), {}],
    ['the message is too large', TOO_LARGE, {}],
    ['the message is compressed', message('x', 1), {}],
    ['two messages come', Buffer.concat([message('a'), message('b')]), {}],
    ['the deadline is near', message('wait'), { 'grpc-timeout': '500m' }],
  ])('is refused when %s', async (_what, content, headers) => {
    await serve({ Ask: method })
    expect(await ask('/a.Service/Ask', content, headers)).toMatchObject({
      status: 0,
      content: 'no',
    })
  })

  test('gets the error where the method says so', async () => {
    await serve({ Ask: method })
    const outcome = await ask('/a.Service/Ask', message('other'))
    expect(outcome).toMatchObject({ status: Status.UNAVAILABLE, message: 'ask another replica' })
  })
})

describe('a stream', () => {
  const listener: StreamListener = {
    onMessage: () => {
      throw new Error('a bug')
    },
    onEnd: nothing,
    onCancel: nothing,
    onDrain: nothing,
    refusal: () => NO,
  }
  const refusing: GrpcMethod = { type: 'stream', open: () => listener }
  const closed: GrpcMethod = {
    type: 'stream',
    open: () => {
      throw new GrpcError(Status.INTERNAL, 'not now')
    },
    refusal: () => NO,
  }

  test.each<[string, GrpcMethod, Buffer, Record<string, string>, Status]>([
    ['its listener throws', refusing, message('x'), {}, Status.UNKNOWN],
    ['a message is too large', refusing, TOO_LARGE, {}, Status.RESOURCE_EXHAUSTED],
    [
      'its deadline passes',
      refusing,
      message('').subarray(0, 3),
      { 'grpc-timeout': '20m' },
      Status.DEADLINE_EXCEEDED,
    ],
    ['it is not opened', closed, message('x'), {}, Status.INTERNAL],
  ])('is refused before its error when %s', async (_what, method, content, headers, status) => {
    await serve({ Talk: method })
    const stream = open('/a.Service/Talk', headers)
    stream.write(content)
    expect(await outcomeOf(stream)).toMatchObject({ status, content: 'no' })
  })

  test('whose client could not be authenticated is refused before its error', async () => {
    const admit = (): Promise<void> =>
      Promise.reject(new GrpcError(Status.UNAVAILABLE, 'nobody can say'))
    const { methods } = authenticated({ name: 'a.Service', methods: { Talk: closed } }, { admit })
    await serve(methods)
    const outcome = await outcomeOf(open('/a.Service/Talk'))
    expect(outcome).toMatchObject({ status: Status.UNAVAILABLE, content: 'no' })
  })

  test('whose refusal fails ends, and nothing else does', async () => {
    const admit = (): Promise<void> => Promise.reject(new GrpcError(Status.UNAVAILABLE, 'x'))
    const broken: GrpcMethod = {
      ...closed,
      refusal: () => {
        throw new Error('a bug')
      },
    }
    const { methods } = authenticated({ name: 'a.Service', methods: { Talk: broken } }, { admit })
    await serve(methods)
    // A rejection that nobody handles would fail this file, and would end the process.
    expect(await outcomeOf(open('/a.Service/Talk'))).toMatchObject({ status: Status.UNKNOWN })
  })
})
