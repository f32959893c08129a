// Which calls are served by the token that they bring, while reviews succeed, fail or hang.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { EnvoyTokens } from '../../../src/addons/provision/envoy-tokens.js'
import type { Peer } from '../../../src/wire/grpc/peer.js'
import type { Call } from '../../../src/wire/grpc/service.js'
import { GrpcError, Status } from '../../../src/wire/grpc/status.js'

const AUDIENCE = 'gatehouse.infra.svc'
const USER = 'system:serviceaccount:shop:gw-gatehouse'
const HOUR = 3_600_000

const tcp = (address = '10.0.0.1'): Peer => ({ type: 'tcp', address, hasCertificate: false })

const callOf = (peer: Peer, ...values: readonly string[]): Call => ({
  peer,
  deadline: Infinity,
  isCancelled: () => false,
  metadata: (name) => (name === 'x-gatehouse-token' ? values : []),
})

/** A token with these claims; the reviews of the tests ignore its signature. */
const tokenOf = (claims: object): string =>
  ['{}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.')

const claims = () => ({ sub: USER, aud: [AUDIENCE], exp: (Date.now() + 24 * HOUR) / 1000 })
const sent = (more: object = {}): string => tokenOf({ ...claims(), ...more })

type Review = (token: string) => Promise<string | undefined>

let gateways: Map<string, string> | undefined
let warnings: string[]

beforeEach(() => {
  vi.useFakeTimers()
  gateways = new Map([['shop/gw-gatehouse', 'shop/gw']])
  warnings = []
})

afterEach(() => vi.useRealTimers())

const tokensWith = (review: Review): EnvoyTokens =>
  new EnvoyTokens({
    audience: AUDIENCE,
    review,
    gatewayOf: () => gateways && ((account) => gateways?.get(account)),
    now: () => Date.now(),
    onWarning: (message) => warnings.push(message),
  })

/** Resolves to the status of a call; "OK" if it is served. */
async function outcome(tokens: EnvoyTokens, call: Call): Promise<string> {
  try {
    await tokens.admit(call)
    return 'OK'
  } catch (error) {
    if (!(error instanceof GrpcError)) throw error
    return Object.entries(Status).find(([, value]) => value === error.status)?.[0] ?? ''
  }
}

test('a connection waits for the review of its token once, and so does no other with that token', async () => {
  const review = vi.fn<Review>(() => Promise.resolve(USER))
  const tokens = tokensWith(review)
  const [peer, other, header] = [tcp(), tcp(), sent()]
  expect([tokens.isEnvoy(peer), tokens.gatewayOf(peer)]).toEqual([false, ''])
  expect(await outcome(tokens, callOf(peer, header))).toBe('OK')
  expect(tokens.admit(callOf(peer, header))).toBeUndefined()
  expect(tokens.admit(callOf(other, header))).toBeUndefined()
  expect([tokens.gatewayOf(peer), tokens.isEnvoy(other)]).toEqual(['shop/gw', true])
  expect(review).toHaveBeenCalledTimes(1)
})

test('only peers that need no token may use what every Gateway has', () => {
  const tokens = tokensWith(() => Promise.resolve(USER))
  const peers = [{ ...tcp(), hasCertificate: true }, { ...tcp(), type: 'unix' as const }, tcp()]
  expect(peers.map((peer) => tokens.gatewayOf(peer))).toEqual([undefined, undefined, ''])
})

test('a renewed token on the same connection is reviewed', async () => {
  const review = vi.fn<Review>(() => Promise.resolve(USER))
  const tokens = tokensWith(review)
  const peer = tcp()
  for (const jti of ['a', 'b', 'b'])
    expect(await outcome(tokens, callOf(peer, sent({ jti })))).toBe('OK')
  expect(review).toHaveBeenCalledTimes(2)
})

test('peers with a certificate or over a socket need no token', () => {
  const tokens = tokensWith(() => Promise.reject(new Error('asked')))
  expect(tokens.admit(callOf({ ...tcp(), hasCertificate: true }))).toBeUndefined()
  expect(tokens.admit(callOf({ ...tcp(), type: 'unix' }))).toBeUndefined()
})

test.each<[string, readonly string[], string]>([
  ['none', [], 'UNAUTHENTICATED'],
  ['two', [sent(), sent()], 'UNAUTHENTICATED'],
  ['an empty one', [''], 'UNAUTHENTICATED'],
  ['a very long one', ['a'.repeat(100_000)], 'UNAUTHENTICATED'],
  ['no JSON', ['a.e30.c'], 'UNAUTHENTICATED'],
  ['a user', [sent({ sub: 'alice' })], 'UNAUTHENTICATED'],
  ['another audience', [sent({ aud: ['api'] })], 'UNAUTHENTICATED'],
  ['no expiry', [sent({ exp: undefined })], 'UNAUTHENTICATED'],
  ['an expired one', [sent({ exp: 1 })], 'UNAUTHENTICATED'],
])('the API server is not asked about a header that shows it: %s', async (_, values, status) => {
  const review = vi.fn<Review>(() => Promise.resolve(USER))
  expect(await outcome(tokensWith(review), callOf(tcp(), ...values))).toBe(status)
  expect(review).not.toHaveBeenCalled()
})

test('a made-up token has the same answers, whether or not a Gateway has Envoys of its account', async () => {
  const answersFor = async (sub: string): Promise<readonly string[]> => {
    const review = vi.fn<Review>(() => Promise.resolve(undefined))
    const tokens = tokensWith(review)
    const answers: string[] = []
    for (let jti = 0; jti < 10; jti++)
      answers.push(await outcome(tokens, callOf(tcp(), sent({ sub, jti }))))
    expect(review).toHaveBeenCalledTimes(8)
    expect(tokens.refusals()).toMatchObject({ refused: 8, limit: 2, 'no-gateway': 0 })
    return answers
  }
  const answers = await answersFor(USER)
  expect(new Set(answers)).toEqual(new Set(['UNAUTHENTICATED', 'UNAVAILABLE']))
  expect(await answersFor('system:serviceaccount:shop:default')).toEqual(answers)
})

test('the token of a pod that is no Envoy is refused once reviewed, and reviewed once', async () => {
  const sub = 'system:serviceaccount:shop:default'
  const review = vi.fn<Review>(() => Promise.resolve(sub))
  const tokens = tokensWith(review)
  const [peer, header] = [tcp(), sent({ sub })]
  for (let call = 0; call < 3; call++)
    expect(await outcome(tokens, callOf(peer, header))).toBe('PERMISSION_DENIED')
  expect(review).toHaveBeenCalledTimes(1)
  expect([tokens.isEnvoy(peer), tokens.gatewayOf(peer)]).toEqual([false, ''])
  expect(tokens.refusals()).toMatchObject({ 'no-gateway': 3 })
  // Its Gateway was created a moment later.
  gateways?.set('shop/default', 'shop/new')
  expect(await outcome(tokens, callOf(peer, header))).toBe('OK')
  expect(tokens.gatewayOf(peer)).toBe('shop/new')
})

test('tokens of pods that are no Envoys cost 8 reviews a minute', async () => {
  const sub = 'system:serviceaccount:shop:default'
  const review = vi.fn<Review>(() => Promise.resolve(sub))
  const tokens = tokensWith(review)
  for (let jti = 0; jti < 20; jti++) await outcome(tokens, callOf(tcp(), sent({ sub, jti })))
  expect(review).toHaveBeenCalledTimes(8)
})

test('refused calls are counted by reason', async () => {
  const tokens = tokensWith(() => Promise.reject(new Error('HTTP 503')))
  const headers = [[], ['a.e30.c'], [sent({ aud: ['api'] })], [sent({ exp: 1 })], [sent()]]
  for (const values of headers) await outcome(tokens, callOf(tcp(), ...values))
  expect(tokens.refusals()).toEqual({
    none: 1,
    unusable: 3,
    'no-answer': 1,
    refused: 0,
    'no-gateway': 0,
    limit: 0,
  })
})

test.each<[string, Review, string]>([
  ['says no', () => Promise.resolve(undefined), 'UNAUTHENTICATED'],
  ['names another user', () => Promise.resolve('system:node:a'), 'UNAUTHENTICATED'],
  ['fails', () => Promise.reject(new Error('HTTP 503')), 'UNAVAILABLE'],
  [
    'cannot be asked',
    () => {
      throw new Error('no address')
    },
    'UNAVAILABLE',
  ],
])(
  'nothing is served, and a warning says why, when the API server %s',
  async (_, review, status) => {
    const tokens = tokensWith(review)
    const [peer, header] = [tcp(), sent()]
    expect(await outcome(tokens, callOf(peer, header))).toBe(status)
    expect([tokens.isEnvoy(peer), tokens.gatewayOf(peer)]).toEqual([false, ''])
    expect(warnings).toHaveLength(1)
    expect(warnings.join()).not.toContain(header.split('.')[1])
  },
)

test('a review that hangs ends after 5 s, and the next call asks again', async () => {
  const review = vi.fn<Review>(() => new Promise(() => undefined))
  const tokens = tokensWith(review)
  const header = sent()
  for (const times of [1, 2]) {
    const waiting = outcome(tokens, callOf(tcp(), header))
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await waiting).toBe('UNAVAILABLE')
    expect(review).toHaveBeenCalledTimes(times)
  }
})

test('no more than 16 reviews run at once, whatever number of tokens comes', async () => {
  const review = vi.fn<Review>(() => new Promise(() => undefined))
  const tokens = tokensWith(review)
  const calls = Array.from({ length: 100 }, (_, jti) =>
    outcome(tokens, callOf(tcp(`10.0.0.${jti}`), sent({ jti }))),
  )
  await vi.advanceTimersByTimeAsync(5_000)
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['UNAVAILABLE']))
  expect(review).toHaveBeenCalledTimes(16)
})

test('made-up tokens of one address cost 8 reviews a minute, and leave others alone', async () => {
  const honest = sent({ jti: 'honest' })
  const review = vi.fn<Review>((token) => Promise.resolve(token === honest ? USER : undefined))
  const tokens = tokensWith(review)
  const flood = () =>
    Promise.all(
      Array.from({ length: 100 }, () =>
        outcome(tokens, callOf(tcp('10.6.6.6'), sent({ jti: Math.random() }))),
      ),
    )
  const during = flood()
  expect(await outcome(tokens, callOf(tcp(), honest))).toBe('OK')
  expect(new Set(await during)).toEqual(new Set(['UNAUTHENTICATED', 'UNAVAILABLE']))
  await flood()
  expect(review).toHaveBeenCalledTimes(9)
  // A token that is known costs nothing, wherever it comes from.
  expect(await outcome(tokens, callOf(tcp('10.6.6.6'), honest))).toBe('OK')
  vi.setSystemTime(Date.now() + 60_000)
  await flood()
  expect(review).toHaveBeenCalledTimes(17)
})

test('reviews that confirm a token or get no answer count against no address', async () => {
  for (const answer of [() => Promise.resolve(USER), () => Promise.reject(new Error('HTTP 503'))]) {
    const review = vi.fn<Review>(answer)
    const tokens = tokensWith(review)
    for (let jti = 0; jti < 20; jti++) await outcome(tokens, callOf(tcp(), sent({ jti })))
    expect(review).toHaveBeenCalledTimes(20)
  }
})

test('until the Gateways are known, Envoys are told to come back', async () => {
  gateways = undefined
  const review = vi.fn<Review>(() => Promise.resolve(USER))
  expect(await outcome(tokensWith(review), callOf(tcp(), sent()))).toBe('UNAVAILABLE')
  expect(review).not.toHaveBeenCalled()
})

test('an Envoy whose Gateway is gone is served no longer', async () => {
  const tokens = tokensWith(() => Promise.resolve(USER))
  const [peer, header] = [tcp(), sent()]
  expect(await outcome(tokens, callOf(peer, header))).toBe('OK')
  gateways?.clear()
  expect(await outcome(tokens, callOf(peer, header))).toBe('PERMISSION_DENIED')
  expect(tokens.gatewayOf(peer)).toBe('')
})

test('an expired token is refused on an old connection, too', async () => {
  const tokens = tokensWith(() => Promise.resolve(USER))
  const [peer, header] = [tcp(), sent()]
  expect(await outcome(tokens, callOf(peer, header))).toBe('OK')
  vi.setSystemTime(Date.now() + 24 * HOUR)
  expect(await outcome(tokens, callOf(peer, header))).toBe('UNAUTHENTICATED')
})

test('a token that is revoked is refused after the next review, which no call waits for', async () => {
  let user: string | undefined = USER
  const review = vi.fn<Review>(() => Promise.resolve(user))
  const tokens = tokensWith(review)
  const [peer, header] = [tcp(), sent()]
  expect(await outcome(tokens, callOf(peer, header))).toBe('OK')
  user = undefined
  vi.setSystemTime(Date.now() + 300_000)
  expect(tokens.admit(callOf(peer, header))).toBeUndefined()
  await vi.advanceTimersByTimeAsync(0)
  expect(await outcome(tokens, callOf(peer, header))).toBe('UNAUTHENTICATED')
})

test('while the API server does not answer, a token that was valid stays so, and is reviewed later', async () => {
  let answer: Review = () => Promise.resolve(USER)
  const review = vi.fn<Review>((token) => answer(token))
  const tokens = tokensWith(review)
  const [peer, header] = [tcp(), sent()]
  expect(await outcome(tokens, callOf(peer, header))).toBe('OK')
  answer = () => Promise.reject(new Error('no answer'))
  for (const times of [2, 3]) {
    vi.setSystemTime(Date.now() + 300_000)
    // Only one of many calls asks.
    for (let call = 0; call < 10; call++) expect(tokens.admit(callOf(peer, header))).toBeUndefined()
    await vi.advanceTimersByTimeAsync(0)
    expect(review).toHaveBeenCalledTimes(times)
  }
})
