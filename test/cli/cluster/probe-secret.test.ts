// The secret that replicas share for probes: created once, read again, and kept while the API server fails.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type ProbeSecret,
  startProbeSecret,
} from '../../../src/addons/mesh/controller/mesh-controller.js'
import {
  type KubernetesClient,
  KubernetesError,
} from '../../../src/control/sources/kubernetes/client.js'
import type { JsonObject } from '../../../src/model/json.js'
import { eventually, fakeClock } from '../../support/fake-clock.js'

const [one, other] = [1, 2].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array]
const secretOf = (bytes: Uint8Array): JsonObject => ({
  data: { key: Buffer.from(bytes).toString('base64') },
})
const failure = (status: number): KubernetesError => new KubernetesError(`HTTP ${status}`, status)

type Call = (method: string, path: string, body?: JsonObject) => Promise<JsonObject>

let running: ProbeSecret | undefined
let warnings: string[] = []

beforeEach(fakeClock)

afterEach(() => {
  running?.close()
  warnings = []
})

function start(call: Call, mayWrite = true): ProbeSecret {
  running = startProbeSecret({
    client: { call } as unknown as KubernetesClient,
    namespace: 'default',
    name: 'gatehouse-probe',
    mayWrite: () => mayWrite,
    onWarning: (message) => warnings.push(message),
  })
  return running
}

test('is created by the replica that may write, and read then', async () => {
  let stored: JsonObject | undefined
  const secret = start((method, _, body) => {
    if (method === 'POST') stored = body
    return stored === undefined ? Promise.reject(failure(404)) : Promise.resolve(stored)
  })
  const told: Uint8Array[] = []
  secret.follow((bytes) => told.push(bytes))
  await eventually(() => expect(secret.current()).toHaveLength(32))
  expect(told).toEqual([secret.current()])
  expect(warnings).toEqual([])
})

test('is not created by another replica', async () => {
  const methods: string[] = []
  const secret = start((method) => {
    methods.push(method)
    return Promise.reject(failure(404))
  }, false)
  await eventually(() => expect(methods.length).toBeGreaterThan(1))
  expect(new Set(methods)).toEqual(new Set(['GET']))
  expect(secret.current()).toBeUndefined()
})

test('is that of another replica which was faster, without a warning', async () => {
  let answers = 0
  const secret = start((method) => {
    if (method === 'POST') return Promise.reject(failure(409))
    answers += 1
    return answers === 1 ? Promise.reject(failure(404)) : Promise.resolve(secretOf(other))
  })
  await eventually(() => expect(secret.current()).toEqual(Buffer.from(other)))
  expect(warnings).toEqual([])
})

test.each([
  ['that may not be read', () => Promise.reject(failure(403)), 'HTTP 403'],
  ['whose reading fails', () => Promise.reject(new Error('socket hang up')), 'socket hang up'],
  ['without a key', () => Promise.resolve({ data: {} }), 'it has no key'],
])('a Secret %s is a warning, and tried again', async (_, first, message) => {
  let calls = 0
  const secret = start(() => (calls++ === 0 ? first() : Promise.resolve(secretOf(one))))
  await eventually(() => expect(secret.current()).toEqual(Buffer.from(one)))
  expect(warnings).toEqual([expect.stringContaining(message)])
})

test('nothing is asked any more after the end, even if an answer hangs until then', async () => {
  let calls = 0
  let answer: (secret: JsonObject) => void = () => undefined
  const secret = start(() => {
    calls += 1
    return new Promise((resolve) => (answer = resolve))
  })
  secret.close()
  answer(secretOf(one))
  await eventually(() => expect(secret.current()).toBeDefined())
  await vi.advanceTimersByTimeAsync(60_000)
  expect(calls).toBe(1)
})
