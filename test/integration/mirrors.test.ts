// Mirrored requests (RequestMirror) through a real Envoy: which backends get copies, and what a copy contains.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import type { Backend } from '../support/backend.js'
import { bearer } from '../support/http.js'
import { jwt, sign } from '../support/protected-stack.js'
import { backendRef, gateway, prefix, proxyPolicy } from '../support/resources.js'
import { newKey, type SigningKey } from '../support/tokens.js'
import { route, startTwoBackends, type TwoBackends, when } from '../support/two-backends.js'

const HOST = 'shop.example'
const mirror = (name: string, more: object = {}): object => ({
  type: 'RequestMirror',
  requestMirror: { backendRef: backendRef(name), ...more },
})
const mirrored = (path: string, ...filters: readonly object[]): object =>
  when(prefix(path), 'a', { filters })

let key: SigningKey
let world: TwoBackends

beforeAll(async () => {
  key = await newKey('k1')
  world = await startTwoBackends((port) => [
    gateway([port]),
    route(
      'open',
      HOST,
      mirrored('/all', mirror('b')),
      mirrored('/none', mirror('b', { percent: 0 })),
      mirrored('/some', mirror('b', { fraction: { numerator: 1, denominator: 4 } })),
      mirrored('/missing', mirror('nobody'), mirror('b')),
    ),
    route('locked', HOST, mirrored('/locked', mirror('b'))),
    proxyPolicy('locked', 'locked', { jwtAuthentication: jwt([key]) }),
  ])
})
afterAll(() => world.close())

const pathsSeen = (backend: Backend): readonly (string | undefined)[] =>
  backend.requests.map(({ url }) => url)

/** Resolves when a copy of a later request has arrived: copies of earlier ones would have, too. */
async function settle(): Promise<void> {
  const mark = `/all/${String(Math.random())}`
  await world.ask(HOST, mark)
  await eventually(() => expect(pathsSeen(world.b)).toContain(mark))
}

test('the copy has path, Host and body, and the answer is the first backend’s', async () => {
  const answer = await world.ask(HOST, '/all/x?y=z', { method: 'POST', body: 'hello' })
  expect(answer.body).toBe('a')
  await eventually(() => expect(pathsSeen(world.b)).toContain('/all/x?y=z'))
  const copy = world.b.requests.find(({ url }) => url === '/all/x?y=z')
  expect(copy).toMatchObject({ method: 'POST', body: 'hello' })
  expect(copy?.headers.host).toBe(HOST)
})

test('a share of 0 gets none, and a share of a quarter some', async () => {
  for (let count = 0; count < 80; count++) await world.ask(HOST, '/some')
  await world.ask(HOST, '/none')
  await settle()
  expect(pathsSeen(world.b)).not.toContain('/none')
  const some = pathsSeen(world.b).filter((path) => path === '/some').length
  expect(some).toBeGreaterThan(2)
  expect(some).toBeLessThan(60)
})

test('a backend that does not exist gets none, is reported, and the others get theirs', async () => {
  expect(await world.whoAnswers(HOST, '/missing')).toBe('a')
  await eventually(() => expect(pathsSeen(world.b)).toContain('/missing'))
  const open = (await world.stack.status()).find(({ name }) => name === 'open')
  expect(open?.conditions).toContainEqual(
    expect.objectContaining({ type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' }),
  )
})

test('a refused request is not copied, and the copy of an allowed one has no token', async () => {
  expect(await world.whoAnswers(HOST, '/locked/refused')).toBe(401)
  const headers = bearer(await sign(key))
  expect(await world.whoAnswers(HOST, '/locked/allowed', { headers })).toBe('a')
  await eventually(() => expect(pathsSeen(world.b)).toContain('/locked/allowed'))
  const copy = world.b.requests.find(({ url }) => url === '/locked/allowed')
  expect(copy?.headers.authorization).toBeUndefined()
  await settle()
  expect(pathsSeen(world.b)).not.toContain('/locked/refused')
})
