// Key sets of providers that rotate, revoke, fail or serve false keys, from the callers' point of view (decision 2).

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { json, type Reply } from '../support/document-server.js'
import { bearer, send } from '../support/http.js'
import {
  ISSUER,
  k1,
  k2,
  type KeySetStack,
  startKeySetStack,
  stranger,
} from '../support/key-set-stack.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'

/** The ways in which a provider is broken. */
const BROKEN = [
  'not-json',
  'wrong-type',
  'wrong-keys',
  'huge',
  'redirecting',
  'failing',
  'broken-off',
  'slow',
] as const

/** How long a check waits for keys; timers may be a little early. */
const MOST_WAIT_MS = 990

let stack: KeySetStack

beforeAll(async () => {
  stack = await startKeySetStack(
    'rotated',
    'shared',
    'flooded',
    'revoked',
    'partly',
    'odd',
    ...BROKEN,
  )
})
afterAll(() => stack.close())

/** Not the 503 of a check that has waited for keys as long as it may: on a busy machine, a fetch takes longer. */
async function decided(call: () => Promise<number>): Promise<number> {
  for (;;) {
    const began = performance.now()
    const status = await call()
    if (status !== 503 || performance.now() - began < MOST_WAIT_MS) return status
  }
}

const decidedStatusOf = (name: string, key: SigningKey): Promise<number> =>
  decided(() => stack.statusOf(name, key))

describe('rotated keys', () => {
  test('an unknown kid brings the new keys within the request that shows it', async () => {
    const before = stack.fetchesOf('/rotated')
    stack.idp.serve('/rotated', keySet(k1, k2))
    expect(await stack.statusOf('rotated', k2)).toBe(200)
    expect(stack.fetchesOf('/rotated')).toBe(before + 1)
    expect(await stack.statusOf('rotated', k1)).toBe(200)
  })

  test('waiting requests share one fetch, and made-up kids the next', async () => {
    const [before, start] = [stack.fetchesOf('/shared'), performance.now()]
    const arrived = hold('/shared')
    const waiting = [
      stack.call('shared', k2),
      stack.call('shared', k2),
      stack.call('shared', stranger),
    ]
    const release = await arrived
    stack.idp.serve('/shared', keySet(k2))
    release(json(keySet(k2)))
    const statuses = (await Promise.all(waiting)).map(({ status }) => status)
    expect(statuses).toEqual([200, 200, 401])
    const madeUp = Array.from({ length: 50 }, (_, i) => ({ ...stranger, kid: `made-up-${i}` }))
    for (let times = 0; times < 2; times++) {
      const answers = await Promise.all(madeUp.map((key) => decidedStatusOf('shared', key)))
      expect(new Set(answers)).toEqual(new Set([401]))
    }
    const seconds = (performance.now() - start) / 1000
    expect(stack.fetchesOf('/shared') - before).toBeLessThanOrEqual(2 + seconds / 0.9)
    expect(await stack.statusOf('shared', k1)).toBe(401)
  })

  test('under a flood of made-up and retired kids cost no good request', async () => {
    let [flooding, begun] = [true, 0]
    const refused = new Set<number>()
    const flood = Array.from({ length: 20 }, async () => {
      while (flooding)
        refused.add(
          await decidedStatusOf('flooded', {
            ...stranger,
            kid: begun++ % 2 ? `kid-${begun}` : 'old',
          }),
        )
    })
    const before = stack.fetchesOf('/flooded')
    const start = performance.now()
    const statuses: number[] = []
    for (let rotation = 0; rotation < 5; rotation++) {
      const key = await newKey(`rotated-${rotation}`)
      stack.idp.serve('/flooded', keySet(key))
      for (let times = 0; times < 3; times++)
        statuses.push(
          ...(await Promise.all(Array.from({ length: 10 }, () => decidedStatusOf('flooded', key)))),
        )
    }
    const seconds = (performance.now() - start) / 1000
    const fetches = stack.fetchesOf('/flooded') - before
    flooding = false
    await Promise.all(flood)
    expect(statuses).toEqual(Array(150).fill(200))
    expect(refused).toEqual(new Set([401]))
    expect(fetches).toBeLessThanOrEqual(2 + seconds / 0.9)
  })

  test('a valid empty set revokes every key, also for tokens that were let in before', async () => {
    const token = await signToken({ key: k1, claims: { iss: ISSUER } })
    const again = (): Promise<number> =>
      decided(async () => (await send(stack.origin, '/revoked', { headers: bearer(token) })).status)
    expect(await again()).toBe(200)
    stack.idp.serve('/revoked', { keys: [] })
    expect(await decidedStatusOf('revoked', stranger)).toBe(401)
    expect(await again()).toBe(401)
    expect((await stack.conditionsOf('revoked'))['Accepted']?.[2]).toContain('no token is valid')
  })
})

/** The provider holds its answer at path; resolves, when the first request is there, to what lets it answer. */
function hold(path: string): Promise<(reply: Reply) => void> {
  return new Promise((arrive) => {
    stack.idp.serve(path, (request, response) => arrive((reply) => reply(request, response)))
  })
}

describe.concurrent(
  'a bad answer leaves the last good keys in force, and the status reports it',
  () => {
    const redirect: Reply = (_request, response) =>
      response.writeHead(302, { location: `${stack.idp.origin}/elsewhere` }).end()
    const huge: Reply = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ ...keySet(k1, k2), padding: 'x'.repeat(1024 * 1024) }))
    }

    test.each<[(typeof BROKEN)[number], Reply, string]>([
      ['not-json', (_request, response) => response.end('<html>'), 'the answer is not JSON'],
      ['wrong-type', json([keySet(k2)]), 'the answer is not a JSON object'],
      ['wrong-keys', json({ keys: { k2: k2.publicJwk } }), '"keys" is not an array of objects'],
      ['huge', huge, 'the answer is larger than 1048576 bytes'],
      ['redirecting', redirect, 'HTTP 302: redirects are not followed'],
      ['failing', json(keySet(k2), 500), 'HTTP 500'],
      ['broken-off', (request) => request.socket.destroy(), 'the connection broke'],
      ['slow', () => undefined, 'no complete answer within 5000 ms'],
    ])('%s', async (name, reply, problem) => {
      stack.idp.serve('/elsewhere', keySet(k2))
      const before = stack.fetchesOf(`/${name}`)
      stack.idp.serve(`/${name}`, reply)
      const { status, headers } = await stack.call(name, k2)
      expect([status, headers['retry-after']]).toEqual([503, '1'])
      expect(stack.fetchesOf(`/${name}`)).toBeGreaterThan(before)
      await eventually(async () => {
        const { Accepted, Attached } = await stack.conditionsOf(name)
        expect(Attached?.[0]).toBe('True')
        expect(Accepted?.[2]).toContain('it cannot be refreshed: ')
        expect(Accepted?.[2]).toContain(problem)
      })
      expect(await stack.statusOf(name, k1)).toBe(200)
      expect(stack.idp.requests.filter(({ path }) => path === '/elsewhere')).toEqual([])
    })
  },
)

test('a key that cannot be used is skipped and named in the status', async () => {
  const odd = { kty: 'oct', k: 'c2VjcmV0', kid: 'symmetric' }
  stack.idp.serve('/partly', { keys: [odd, k1.publicJwk, k2.publicJwk] })
  expect(await stack.statusOf('partly', k2)).toBe(200)
  await eventually(async () =>
    expect((await stack.conditionsOf('partly'))['Accepted']?.[2]).toContain('"symmetric"'),
  )
})

test('null members, entries that are no keys, and tokens without a kid cost nobody anything', async () => {
  const nothing = { d: null, p: null, x5c: null, key_ops: [], x5t: '' }
  const [first, second] = [k1, k2].map(({ publicJwk }) => ({ ...publicJwk, ...nothing }))
  stack.idp.serve('/odd', { keys: [first, null, { ...second, use: null, alg: null }, 'entry'] })
  expect(await decidedStatusOf('odd', k2)).toBe(200)
  for (const key of [k1, k2, stranger]) {
    const token = await signToken({ key, claims: { iss: ISSUER }, header: { kid: undefined } })
    const status = decided(
      async () => (await send(stack.origin, '/odd', { headers: bearer(token) })).status,
    )
    expect(await status).toBe(key === stranger ? 401 : 200)
  }
  await eventually(async () => {
    const message = (await stack.conditionsOf('odd'))['Accepted']?.[2]
    expect(message).toContain('keys[1], keys[3]: it is not an object')
    expect(message).not.toContain('private')
  })
})

test('counts the fetches, and has the time of the last one, with or without success', async () => {
  const metrics = await stack.metrics()
  const timeOf = (name: string, path: string): number => {
    const series = `gatehouse_key_set_${name}_timestamp_seconds`
    const [, seconds] =
      new RegExp(`^${series}\\{url="[^"]*${path}"\\} (\\S+)$`, 'm').exec(metrics) ?? []
    return Number(seconds)
  }
  expect(metrics).toMatch(/gatehouse_key_set_fetches_total\{result="success"\} [1-9]/)
  expect(metrics).toMatch(/gatehouse_key_set_fetches_total\{result="failure"\} [1-9]/)
  expect(timeOf('last_attempt', '/failing')).toBeGreaterThan(timeOf('last_fetch', '/failing'))
  expect(timeOf('last_attempt', '/revoked')).toBe(timeOf('last_fetch', '/revoked'))
})
