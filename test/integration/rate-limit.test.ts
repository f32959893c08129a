// traffic.rateLimit through Envoy: a bucket per key, a shared one for requests without a key, and 429 that says when to
// retry.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend } from '../support/backend.js'
import { type Answer, bearer, send } from '../support/http.js'
import {
  jwt,
  protectedRoute,
  type ProtectedStack,
  sign,
  startProtectedStack,
} from '../support/protected-stack.js'
import {
  CORS_FILTER,
  gateway,
  httpRoute,
  inAudit,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { startStack } from '../support/stack.js'
import { newKey } from '../support/tokens.js'

const ours = await newKey('k1')
const others = await newKey('k1')

const limited = (name: string, local: readonly object[], more: object = {}): readonly object[] =>
  protectedRoute(name, { jwtAuthentication: jwt([ours], more), rateLimit: { local } })

let stack: ProtectedStack

beforeAll(async () => {
  stack = await startProtectedStack(
    limited('users', [{ requests: 2, per: '1h', key: 'jwt.sub' }]),
    limited('teams', [{ requests: 2, per: '1h', key: 'jwt.team' }]),
    limited('odd', [{ requests: 2, per: '1h', key: 'jwt.team' }]),
    limited('optional', [{ requests: 2, per: '1h', key: 'jwt.sub' }], { mode: 'Permissive' }),
    limited('both', [
      { requests: 1, per: '24h', burst: 4 },
      { requests: 1, per: '24h', burst: 3, key: 'jwt.sub' },
    ]),
    limited('soon', [
      { requests: 3, per: '1h', burst: 1, key: 'jwt.sub' },
      { requests: 1000, per: '1s' },
    ]),
    limited('strict', [{ requests: 2, per: '1h' }]),
    protectedRoute('open', { rateLimit: { local: [{ requests: 2, per: '1h' }] } }),
    protectedRoute('paths', {
      rateLimit: { local: [{ requests: 1, per: '1h', key: 'request.headers["x-tenant"]' }] },
    }),
    [
      httpRoute('shop', {
        hostnames: ['one.example', 'two.example'],
        rules: [
          {
            ...rule('/shop', 'backend'),
            matches: ['/shop/a', '/shop/b'].map((value) => ({ path: { value } })),
          },
        ],
      }),
      proxyPolicy('shop', 'shop', { rateLimit: { local: [{ requests: 1, per: '1h' }] } }),
    ],
    [
      httpRoute('pages', { rules: [rule('/pages', 'backend', { filters: [CORS_FILTER] })] }),
      proxyPolicy('pages', 'pages', { rateLimit: { local: [{ requests: 1, per: '1h' }] } }),
    ],
    [
      httpRoute('audited', { rules: [rule('/audited', 'backend')] }),
      inAudit(
        proxyPolicy('audited', 'audited', { rateLimit: { local: [{ requests: 2, per: '1h' }] } }),
      ),
    ],
    [
      ...protectedRoute('stricter', { rateLimit: { local: [{ requests: 4, per: '1h' }] } }),
      inAudit(
        proxyPolicy('stricter', 'stricter', { rateLimit: { local: [{ requests: 1, per: '1h' }] } }),
      ),
    ],
    protectedRoute('free', { jwtAuthentication: jwt([ours]) }),
  )
})
afterAll(() => stack.close())

const call = async (
  name: string,
  claims?: object,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  send(stack.origin, `/${name}`, {
    headers: { ...(claims === undefined ? {} : bearer(await sign(ours, claims))), ...headers },
  })

async function statuses(name: string, ...all: readonly (object | undefined)[]): Promise<number[]> {
  const found = []
  for (const claims of all) found.push((await call(name, claims)).status)
  return found
}

const [ann, bob] = [{ sub: 'ann' }, { sub: 'bob' }]

describe('a limit with a key', () => {
  test('counts each value by itself, whatever the token', async () => {
    expect(await statuses('users', ann, { ...ann, jti: '2' }, ann)).toEqual([200, 200, 429])
    expect(await statuses('users', bob, bob, bob)).toEqual([200, 200, 429])
  })

  test('has one bucket for all requests without the claim', async () => {
    expect(await statuses('teams', ann, bob, ann)).toEqual([200, 200, 429])
    expect(await statuses('teams', { ...ann, team: 'red' })).toEqual([200])
  })

  test('takes lists and maps for no value', async () => {
    expect(await statuses('odd', { team: ['a'] }, { team: { a: 'a' } }, { team: ['b'] })).toEqual([
      200, 200, 429,
    ])
    expect(await statuses('odd', { team: 'shared' }, { team: '' }, { team: 7 })).toEqual([
      200, 200, 200,
    ])
  })

  test('has one bucket for all requests without a token', async () => {
    expect(await statuses('optional', undefined, undefined, undefined)).toEqual([200, 200, 429])
    expect(await statuses('optional', ann)).toEqual([200])
  })

  test('may count by what rules can read, on a route without tokens', async () => {
    const tenant = async (name: string): Promise<number> =>
      (await call('paths', undefined, { 'x-tenant': name })).status
    expect([await tenant('a'), await tenant('a'), await tenant('b')]).toEqual([200, 429, 200])
  })
})

test('a limit without a key counts all requests, and needs no token', async () => {
  expect(await statuses('open', undefined, undefined, undefined)).toEqual([200, 200, 429])
})

test('each match of a rule and each host name counts by itself', async () => {
  const found: [string, number][] = []
  for (const place of ['one/a', 'one/a', 'one/b', 'two/a', 'two/b', 'one/b', 'two/b']) {
    const [host = '', path = ''] = place.split('/')
    const headers = { host: `${host}.example` }
    found.push([place, (await send(stack.origin, `/shop/${path}`, { headers })).status])
  }
  expect(found).toEqual([
    ['one/a', 200],
    ['one/a', 429],
    ['one/b', 200],
    ['two/a', 200],
    ['two/b', 200],
    ['one/b', 429],
    ['two/b', 429],
  ])
})

test('of several limits each must hold', async () => {
  expect(await statuses('both', ann, ann, ann, ann)).toEqual([200, 200, 200, 429])
  // The one without a key has one left: a request that one limit refuses may have counted at another.
  expect(await statuses('both', bob, bob)).toContain(429)
})

test('a refusal states when the next request passes, and reaches no backend', async () => {
  const start = performance.now()
  await call('soon', ann)
  const seen = stack.backend.requests.length
  const answer = await call('soon', ann)
  expect(answer.status).toBe(429)
  // A token comes every 1,200 s.
  const passed = Math.ceil((performance.now() - start) / 1000)
  const retryAfter = Number(answer.headers['retry-after'])
  expect(retryAfter).toBeGreaterThanOrEqual(1200 - passed)
  expect(retryAfter).toBeLessThanOrEqual(1200)
  expect(stack.backend.requests).toHaveLength(seen)
})

test('requests that are refused for their token use up no limit', async () => {
  const forged = await sign(others, ann)
  for (let i = 0; i < 5; i++) expect(await stack.statusOf('strict', forged)).toBe(401)
  expect(await statuses('strict', ann, ann, ann)).toEqual([200, 200, 429])
})

test('a route without a limit has none', async () => {
  for (let i = 0; i < 5; i++)
    expect((await call('free', ann)).headers).not.toHaveProperty('retry-after')
})

test('a page can read a refusal, and its preflights do not count', async () => {
  const origin = 'https://app.example'
  const preflight = { origin, 'access-control-request-method': 'GET' }
  for (let i = 0; i < 3; i++)
    expect(
      (await send(stack.origin, '/pages', { method: 'OPTIONS', headers: preflight })).status,
    ).toBe(200)
  expect((await call('pages', undefined, { origin })).status).toBe(200)
  const refused = await call('pages', undefined, { origin })
  expect(refused.status).toBe(429)
  expect(refused.headers['access-control-allow-origin']).toBe(origin)
})

test('callers with more keys than are kept get no more than all buckets together', async () => {
  const backend = await startBackend()
  const small = await startStack({
    flags: ['--rate-limit-buckets', '3'],
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      httpRoute('api', { rules: [rule('/', 'backend')] }),
      proxyPolicy('limit', 'api', {
        rateLimit: { local: [{ requests: 2, per: '1h', key: 'request.headers["x-tenant"]' }] },
      }),
    ],
  })
  const passed = async (tenant: string): Promise<boolean> =>
    (await send(small.origin, '/', { headers: { 'x-tenant': tenant } })).status === 200
  try {
    const all = []
    for (let round = 0; round < 5; round++)
      for (const tenant of ['a', 'b', 'c', 'd', 'e']) all.push(await passed(tenant))
    expect(all.filter(Boolean)).toHaveLength(3 * 2)
  } finally {
    await small.close()
    await backend.close()
  }
})

test('limits of policies of mode Audit are counted, and limit nothing; those in force do', async () => {
  const counted = async (name: string): Promise<number> => {
    const page = await fetch(`${stack.envoyAdmin}/stats?filter=gatehouse_audit.*${name}$`)
    return Number(/: (\d+)/.exec(await page.text())?.[1])
  }
  const statuses = async (path: string): Promise<readonly number[]> => {
    const all: number[] = []
    for (let i = 0; i < 5; i++) all.push((await send(stack.origin, path)).status)
    return all
  }
  expect(await statuses('/audited')).toEqual([200, 200, 200, 200, 200])
  expect(await counted('http_local_rate_limit.rate_limited')).toBe(3)
  expect(await statuses('/stricter')).toEqual([200, 200, 200, 200, 429])
  expect(await counted('http_local_rate_limit.rate_limited')).toBe(3 + 3)
  expect(await counted('http_local_rate_limit.enforced')).toBe(0)
})
