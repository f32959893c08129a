// Typical HTTPRoutes and Services through the whole product: which backend answers which request.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import type { Backend } from '../support/backend.js'
import { backendRef, gateway, prefix, rule } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends, when } from '../support/two-backends.js'

const hostnames = (): readonly object[] => [
  route('one', 'one.example', rule('/', 'a')),
  route('two', 'two.example', rule('/', 'b')),
  route('wild', '*.wild.example', rule('/', 'a')),
  route('narrow', 'narrow.wild.example', rule('/', 'b')),
]

const matches = (): object =>
  route(
    'match',
    'match.example',
    when({ path: { type: 'Exact', value: '/exact' } }, 'b'),
    when(prefix('/prefix'), 'b'),
    when({ path: { type: 'RegularExpression', value: '/re/[0-9]+' } }, 'b'),
    when({ ...prefix('/header'), headers: [{ name: 'X-Version', value: '2' }] }, 'b'),
    when({ ...prefix('/query'), queryParams: [{ name: 'q', value: 'b' }] }, 'b'),
    when({ ...prefix('/method'), method: 'PUT' }, 'b'),
    {
      matches: [prefix('/either'), { ...prefix('/or'), method: 'POST' }],
      backendRefs: [backendRef('b')],
    },
    when(prefix('/'), 'a'),
  )

/** The less specific rule is always first: precedence decides, not the order in the file. */
const precedence = (): object =>
  route(
    'precedence',
    'precedence.example',
    when(prefix('/p'), 'a'),
    when(prefix('/p/long'), 'b'),
    when(prefix('/e'), 'a'),
    when({ path: { type: 'Exact', value: '/e' } }, 'b'),
    when(prefix('/pattern/long'), 'a'),
    when({ path: { type: 'RegularExpression', value: '/pat.*' } }, 'a'),
    when({ path: { type: 'RegularExpression', value: '/pattern.*' } }, 'b'),
    when({ path: { type: 'RegularExpression', value: '/exact.*' } }, 'a'),
    when({ path: { type: 'Exact', value: '/exact' } }, 'b'),
    when(prefix('/m'), 'a'),
    when({ ...prefix('/m'), method: 'GET' }, 'b'),
    when({ ...prefix('/h'), headers: [{ name: 'x-a', value: '1' }] }, 'a'),
    when(
      {
        ...prefix('/h'),
        headers: [
          { name: 'x-a', value: '1' },
          { name: 'x-b', value: '1' },
        ],
      },
      'b',
    ),
    when(prefix('/first'), 'b'),
    when(prefix('/first'), 'a'),
  )

const service = (a: Backend, b: Backend): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { ports: [{ name: 'http', port: 80, targetPort: a.port }] },
  },
  ...[a, b].map((backend, index) => ({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: `web-${String(index)}`, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: backend.port, protocol: 'TCP' }],
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
  })),
  route('service', 'service.example', {
    backendRefs: [{ kind: 'Service', name: 'web', port: 80 }],
  }),
]

const weights = (): object =>
  route(
    'weights',
    'weights.example',
    {
      matches: [prefix('/split')],
      backendRefs: [
        { ...backendRef('a'), weight: 1 },
        { ...backendRef('b'), weight: 4 },
      ],
    },
    {
      matches: [prefix('/none')],
      backendRefs: [
        { ...backendRef('a'), weight: 0 },
        { ...backendRef('b'), weight: 1 },
      ],
    },
    { matches: [prefix('/nobody')], backendRefs: [{ ...backendRef('a'), weight: 0 }] },
    { matches: [prefix('/missing')], backendRefs: [backendRef('missing')] },
    { matches: [prefix('/half')], backendRefs: [backendRef('a'), backendRef('missing')] },
  )

let world: TwoBackends

beforeAll(async () => {
  world = await startTwoBackends((port, a, b) => [
    gateway([port]),
    ...hostnames(),
    matches(),
    precedence(),
    weights(),
    ...service(a, b),
  ])
})
afterAll(() => world.close())

describe('hostnames', () => {
  test.each([
    ['one.example', 'a'],
    ['one.example:8080', 'a'],
    ['ONE.example', 'a'],
    ['two.example', 'b'],
    ['x.wild.example', 'a'],
    ['x.y.wild.example', 'a'],
    ['narrow.wild.example', 'b'],
    ['wild.example', 404],
    ['three.example', 404],
  ])('%s: %s', async (host, expected) => {
    expect(await world.whoAnswers(host, '/')).toBe(expected)
  })
})

describe('matches', () => {
  const host = 'match.example'
  test.each([
    ['/exact', {}, 'b'],
    ['/exact/', {}, 'a'],
    ['/exactly', {}, 'a'],
    ['/prefix', {}, 'b'],
    ['/prefix/x?y', {}, 'b'],
    ['/prefixed', {}, 'a'],
    ['/re/42', {}, 'b'],
    ['/re/42?x=y', {}, 'b'],
    ['/re/42x', {}, 'a'],
    ['/x/re/42', {}, 'a'],
    ['/header', { headers: { 'x-version': '2' } }, 'b'],
    ['/header', { headers: { 'x-version': '22' } }, 'a'],
    ['/header', {}, 'a'],
    ['/query?q=b', {}, 'b'],
    ['/query?p=1&q=b', {}, 'b'],
    ['/query?q=bb', {}, 'a'],
    ['/method', { method: 'PUT' }, 'b'],
    ['/method', { method: 'POST' }, 'a'],
    ['/either', {}, 'b'],
    ['/or', { method: 'POST' }, 'b'],
    ['/or', {}, 'a'],
  ])('%s %j: %s', async (path, request, expected) => {
    expect(await world.whoAnswers(host, path, request)).toBe(expected)
  })

  test.each([
    ['the longer prefix', '/p/long/x', {}],
    ['the exact path', '/e', {}],
    ['a pattern over a prefix, and the longer pattern', '/pattern/long', {}],
    ['an exact path over a pattern', '/exact', {}],
    ['the method', '/m', {}],
    ['more headers', '/h', { headers: { 'x-a': '1', 'x-b': '1' } }],
    ['the first of two equal rules', '/first', {}],
  ])('%s wins', async (_what, path, request) => {
    expect(await world.whoAnswers('precedence.example', path, request)).toBe('b')
  })
})

describe('backends', () => {
  const host = 'weights.example'
  const shares = async (path: string, times: number): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {}
    for (let i = 0; i < times; i++) {
      const who = String(await world.whoAnswers(host, path))
      counts[who] = (counts[who] ?? 0) + 1
    }
    return counts
  }

  test('share by weight', async () => {
    const { a: few = 0, b: many = 0 } = await shares('/split', 200)
    expect(few + many).toBe(200)
    expect(few).toBeGreaterThan(10)
    expect(many).toBeGreaterThan(120)
  })

  test('of weight 0 get nothing', async () => {
    expect(await shares('/none', 20)).toEqual({ b: 20 })
    expect(await shares('/nobody', 3)).toEqual({ '500': 3 })
  })

  test('that do not exist answer 500 for their share, and the route reports it', async () => {
    expect(await shares('/missing', 3)).toEqual({ '500': 3 })
    const { a: some = 0, '500': failed = 0 } = await shares('/half', 60)
    expect([some + failed, some > 5, failed > 5]).toEqual([60, true, true])
    const status = (await world.stack.status()).find(({ name }) => name === 'weights')
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' }),
    )
  })

  test('of a Service are the endpoints of its slices', async () => {
    const seen = new Set<string | number>()
    await eventually(async () => {
      seen.add(await world.whoAnswers('service.example', '/'))
      expect(seen.size).toBe(2)
    })
    expect([...seen].sort()).toEqual(['a', 'b'])
  })

  test('have no idle connection left when servers of Node and uvicorn would close it', async () => {
    expect(await world.whoAnswers('one.example', '/')).toBe('a')
    expect(await world.a.connections()).toBeGreaterThan(0)
    await eventually(async () => expect(await world.a.connections()).toBe(0), 30_000)
  })
})
