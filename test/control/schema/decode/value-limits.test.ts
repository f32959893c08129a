// Objects of the API server are decoded in one step of the event loop, so those with too many values are refused.

import { expect, test } from 'vitest'
import { decodeObject } from '../../../../src/control/schema/decode/decode.js'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'

const kinds = kindsOf('policy.gatehouse.dev')

const metadata = { name: 'large', namespace: 'shop' }
const ROUTE = { apiVersion: 'gateway.networking.k8s.io/v1', kind: 'HTTPRoute', metadata }
const SLICE = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' }

const decoded = (object: Readonly<Record<string, unknown>>) =>
  decodeObject(object, 'kubernetes', kinds)
const many = <Entry>(count: number, entryOf: (index: number) => Entry): Entry[] =>
  Array.from({ length: count }, (_, index) => entryOf(index))
const keys = (count: number, value: unknown) =>
  Object.fromEntries(many(count, (index) => [`key-${index}`, value]))

/** Returns a route whose matches have 32 conditions each. */
function routeOf(rules: number, matches: number) {
  const conditions = many(16, (index) => ({ type: 'Exact', name: `x-${index}`, value: 'v' }))
  const match = { path: { value: '/' }, headers: conditions, queryParams: conditions }
  return {
    ...ROUTE,
    spec: {
      parentRefs: [{ name: 'g' }],
      rules: many(rules, () => ({ matches: many(matches, () => match) })),
    },
  }
}

/** Counts how often a value is looked into. */
function watched<Value extends object>(value: Value) {
  const count = { looks: 0 }
  const look = (): void => void (count.looks += 1)
  const proxy = new Proxy(value, {
    get: (target, key) => (look(), Reflect.get(target, key) as unknown),
    ownKeys: (target) => (look(), Reflect.ownKeys(target)),
  })
  return { proxy, count }
}

test('the largest HTTPRoute that the Gateway API allows is decoded', () => {
  expect(decoded(routeOf(16, 8))).toMatchObject({ resources: [{}], problems: [] })
})

test('an EndpointSlice of a thousand endpoints is decoded, whatever else they say', () => {
  const endpoint = {
    addresses: ['10.0.0.1'],
    conditions: { ready: true, serving: true, terminating: false },
    hints: { forZones: [{ name: 'a' }, { name: 'b' }] },
    targetRef: { kind: 'Pod', name: 'pod', namespace: 'shop', uid: 'uid' },
    deprecatedTopology: keys(20, 'v'),
  }
  const slice = { ...SLICE, metadata, endpoints: many(1_000, () => endpoint) }
  expect(decoded(slice)).toMatchObject({ resources: [{}], problems: [] })
})

test.each([
  ['an HTTPRoute', routeOf(16, 64), 'spec: has more than 20000 values'],
  [
    'an EndpointSlice',
    { ...SLICE, metadata, endpoints: many(20_000, () => ({ addresses: ['10.0.0.1'] })) },
    'has more than 20000 values',
  ],
  [
    'a ConfigMap',
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: keys(80_000, 'v') },
    'has a map with more than 2000 keys',
  ],
  [
    'labels',
    { ...routeOf(1, 1), metadata: { ...metadata, labels: keys(50_000, 'v') } },
    'metadata: has a map with more than 2000 keys',
  ],
  [
    'unknown fields of rules',
    { ...ROUTE, spec: { parentRefs: [{ name: 'g' }], rules: many(16, () => keys(100, 1)) } },
    'spec: has more than 1000 unknown fields',
  ],
  [
    'levels',
    { ...ROUTE, spec: many(200, () => 0).reduce<unknown>((inner) => [inner], 1) },
    'spec: is nested more than 100 levels deep',
  ],
])('%s beyond the limit: a problem that names the object and the limit', (_, object, message) => {
  const { resources, problems } = decoded(object)
  expect(resources).toEqual([])
  expect(problems).toMatchObject([{ message, kind: object.kind, name: 'large', namespace: 'shop' }])
})

test('what is beyond the limit is not looked at', () => {
  const { proxy, count } = watched({})
  const rules = many(100_000, () => proxy)
  expect(decoded({ ...ROUTE, spec: { rules } }).problems).toHaveLength(1)
  expect(count.looks).toBeLessThan(20_001)
})

test('of thousands of wrong values, fifty are described', () => {
  let looks = 0
  const wrong = new Proxy(
    { name: 5, value: 'v' },
    {
      getOwnPropertyDescriptor: (target, key) => {
        looks += key === 'name' ? 1 : 0
        return Reflect.getOwnPropertyDescriptor(target, key)
      },
    },
  )
  const matches = many(64, () => ({ headers: many(9, () => wrong) }))
  const spec = { parentRefs: [{ name: 'g' }], rules: many(10, () => ({ matches })) }
  const { problems } = decoded({ ...ROUTE, spec })
  expect(problems).toHaveLength(51)
  expect(problems.at(-1)?.message).toBe('has 5710 problems more')
  // Twice for each of 5,760, when it is decoded.
  expect(looks).toBe(2 * 5_760 + 50)
})
