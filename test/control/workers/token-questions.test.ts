// A worker serves the calls whose tokens the main process confirms, and none of which it hears nothing.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { TokenQuestions } from '../../../src/control/workers/token-questions.js'
import { answerTo, type WorkerTokens } from '../../../src/control/workers/worker-pool.js'
import type { Peer } from '../../../src/wire/grpc/peer.js'
import { GrpcError, Status } from '../../../src/wire/grpc/status.js'

const tcp = (): Peer => ({ type: 'tcp', address: '10.0.0.1', hasCertificate: false })
const callOf = (peer: Peer, ...tokens: readonly string[]) => ({
  peer,
  metadata: (name: string) => (name === 'x-gatehouse-token' ? tokens : []),
})

let worker: TokenQuestions
/** What the main process says of a token. */
let admitted: (token: string) => Promise<void> | undefined
/** Tokens that the main process was asked about. */
let asked: string[]
let isAnswering: boolean
/** Messages to the main process. */
let posted: number

const tokens: WorkerTokens = {
  admit: (call) => {
    const [token = ''] = call.metadata('x-gatehouse-token')
    asked.push(token)
    return admitted(token)
  },
  gatewayOf: () => 'shop/gw',
}

const refused = () => Promise.reject(new GrpcError(Status.UNAUTHENTICATED, 'not this one'))

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  isAnswering = true
  posted = 0
  admitted = () => undefined
  const deps = { tokens, refetchKeySet: () => Promise.reject(new Error('not asked')) }
  worker = new TokenQuestions(
    (message) => {
      posted += 1
      if (message.type !== 'admit' || !isAnswering) return
      void answerTo(structuredClone(message), deps).then((answer) => {
        if (answer.type === 'admission')
          worker.receive(answer.call, structuredClone(answer.admission))
      })
    },
    () => Date.now(),
  )
})

afterEach(() => vi.useRealTimers())

test('a connection whose token is confirmed is served, and asks no second time', async () => {
  const peer = tcp()
  expect(worker.gatewayOf(peer)).toBe('')
  await Promise.all([worker.admit(callOf(peer, 'a')), worker.admit(callOf(peer, 'a'))])
  expect(worker.admit(callOf(peer, 'a'))).toBeUndefined()
  expect([asked, worker.gatewayOf(peer)]).toEqual([['a'], 'shop/gw'])
  await worker.admit(callOf(peer, 'renewed'))
  expect(asked).toEqual(['a', 'renewed'])
})

test('peers with a certificate or over a socket are not asked about, and have other rights', () => {
  for (const peer of [
    { ...tcp(), hasCertificate: true },
    { ...tcp(), type: 'unix' as const },
  ]) {
    expect(worker.admit(callOf(peer))).toBeUndefined()
    expect(worker.gatewayOf(peer)).toBeUndefined()
  }
  expect(asked).toEqual([])
})

test.each([[[]], [['a']], [['a', 'a']]])(
  'a call with %j is refused as the main process says',
  async (sent) => {
    admitted = refused
    const peer = tcp()
    await expect(worker.admit(callOf(peer, ...sent))).rejects.toMatchObject({
      status: Status.UNAUTHENTICATED,
      message: 'not this one',
    })
    expect(worker.gatewayOf(peer)).toBe('')
  },
)

test('a failure of the main process refuses the call, and tells nothing of it', async () => {
  admitted = () => Promise.reject(new Error('a secret'))
  await expect(worker.admit(callOf(tcp(), 'a'))).rejects.toMatchObject({
    status: Status.UNKNOWN,
    message: 'the call failed',
  })
})

test('a second token in a call is never taken for the one that was confirmed', async () => {
  const peer = tcp()
  await worker.admit(callOf(peer, 'a'))
  admitted = refused
  await expect(worker.admit(callOf(peer, 'a', 'b'))).rejects.toThrow('not this one')
})

test('after ten seconds the main process is asked beside the calls, and what it refuses is refused', async () => {
  const peer = tcp()
  await worker.admit(callOf(peer, 'a'))
  await vi.advanceTimersByTimeAsync(10_000)
  expect(worker.admit(callOf(peer, 'a'))).toBeUndefined()
  await vi.advanceTimersByTimeAsync(0)
  expect(asked).toEqual(['a', 'a'])
  admitted = refused
  await vi.advanceTimersByTimeAsync(10_000)
  expect(worker.admit(callOf(peer, 'a'))).toBeUndefined()
  await vi.advanceTimersByTimeAsync(0)
  expect(worker.gatewayOf(peer)).toBe('')
  await expect(worker.admit(callOf(peer, 'a'))).rejects.toThrow('not this one')
})

test('while the main process does not answer, what is known counts for a minute, and nobody new is served', async () => {
  const peer = tcp()
  await worker.admit(callOf(peer, 'a'))
  isAnswering = false
  await vi.advanceTimersByTimeAsync(59_000)
  expect(worker.admit(callOf(peer, 'a'))).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1_000)
  const refusals = [peer, tcp()].map((each) => expectLate(worker.admit(callOf(each, 'a'))))
  await vi.advanceTimersByTimeAsync(6_000)
  await Promise.all(refusals)
  isAnswering = true
  await worker.admit(callOf(peer, 'a'))
})

test('while the main process does not answer, it is not asked without end', async () => {
  isAnswering = false
  const [most, some] = [2_048, 100]
  const refusals = Array.from({ length: most + some }, (_, index) =>
    expectLate(worker.admit(callOf(tcp(), String(index)))),
  )
  // Those beyond the limit do not wait.
  await Promise.all(refusals.slice(most))
  expect(posted).toBe(most)
  await vi.advanceTimersByTimeAsync(6_000)
  await Promise.all(refusals)
  isAnswering = true
  await worker.admit(callOf(tcp(), 'a'))
})

const expectLate = (admission: Promise<void> | undefined): Promise<void> =>
  expect(admission).rejects.toMatchObject({
    status: Status.UNAVAILABLE,
    message: 'the token was not reviewed in time',
  })
