// Objects of a cluster are collected in slices, between which others may be added and removed.

import { describe, expect, test } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import {
  type CollectedObjects,
  createObjectStore,
} from '../../../../src/control/sources/kubernetes/objects.js'
import { atOnce, type Work } from '../../../../src/kit/turns.js'
import type { JsonObject } from '../../../../src/model/json.js'

const kinds = kindsOf('policy.gatehouse.dev')

function kindNamed(name: string) {
  const kind = kinds.find((each) => each.kind === name)
  if (kind === undefined) throw new Error(`there is no kind ${name}`)
  return kind
}

const [POLICY, ROUTE] = [kindNamed('ProxyPolicy'), kindNamed('HTTPRoute')]
const SERVICE = kindNamed('Service')

const API = 'policy.gatehouse.dev/v1alpha1'

const metadata = (name: string): JsonObject => ({
  name,
  namespace: 'shop',
  generation: 1,
  uid: name,
})

const policy = (name: string): JsonObject => ({
  metadata: metadata(`policy-of-${name}`),
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ['true'] } } },
  },
})

const route = (name: string): JsonObject => ({
  metadata: metadata(name),
  spec: {
    parentRefs: [{ name: 'gateway' }],
    rules: [{ backendRefs: [{ name: 'backend', port: 80 }] }],
  },
})

function storeOf(names: readonly string[]) {
  const store = createObjectStore(kinds)
  const put = {
    policy: (name: string) => store.put(policy(name), POLICY, API),
    route: (name: string) => store.put(route(name), ROUTE, 'gateway.networking.k8s.io/v1'),
  }
  for (const name of names) {
    put.policy(name)
    put.route(name)
  }
  return { store, put }
}

const namesIn = ({ resources, problems }: CollectedObjects) => ({
  policies: resources.proxyPolicies.map((each) => each.metadata.name),
  routes: resources.httpRoutes.map((each) => each.metadata.name),
  problems,
})

function take(work: Work<unknown>, steps: number): void {
  for (let step = 0; step < steps; step += 1) expect(work.next().done).toBe(false)
}

test('thousands of objects are decoded and collected one in each step, and a later change in one', () => {
  const { store, put } = storeOf([...Array(1_000).keys()].map((index) => `r${String(index)}`))
  const work = store.collected()
  take(work, 4_000)
  expect(namesIn(atOnce(work)).routes).toHaveLength(1_000)
  put.route('one-more')
  const next = store.collected()
  let steps = 0
  while (next.next().done !== true) steps += 1
  expect(steps).toBeLessThan(10)
})

test('a policy and its route that come while others are collected come into force together', () => {
  for (let steps = 1; steps < 6; steps += 1) {
    const { store, put } = storeOf(['a', 'b', 'c'])
    const work = store.collected()
    take(work, steps)
    put.policy('d')
    put.route('d')
    const policies = ['policy-of-a', 'policy-of-b', 'policy-of-c']
    expect(namesIn(atOnce(work))).toEqual({ policies, routes: ['a', 'b', 'c'], problems: [] })
    expect(namesIn(atOnce(store.collected()))).toEqual({
      policies: [...policies, 'policy-of-d'],
      routes: ['a', 'b', 'c', 'd'],
      problems: [],
    })
  }
})

test('a policy that is deleted while others are collected is in force until the next state', () => {
  const { store, put } = storeOf(['a', 'b'])
  const work = store.collected()
  take(work, 1)
  store.remove(policy('b'), POLICY)
  put.policy('c')
  store.remove(policy('c'), POLICY)
  expect(namesIn(atOnce(work)).policies).toEqual(['policy-of-a', 'policy-of-b'])
  expect(namesIn(atOnce(store.collected())).policies).toEqual(['policy-of-a'])
})

test('a policy that breaks while others are collected is a problem of the next state', () => {
  const { store } = storeOf(['a', 'b'])
  const work = store.collected()
  take(work, 1)
  store.put({ metadata: metadata('broken'), spec: 5 }, POLICY, API)
  expect(atOnce(work).undecoded).toEqual([])
  expect(atOnce(store.collected()).undecoded).toMatchObject([{ name: 'broken' }])
})

test('of a policy that is good and then broken, the good version is in force', () => {
  const { store, put } = storeOf([])
  put.policy('a')
  const broken = { ...policy('a'), spec: 5 }
  store.put({ ...broken, metadata: { ...metadata('policy-of-a'), generation: 2 } }, POLICY, API)
  const { resources, undecoded, problems } = atOnce(store.collected())
  expect(resources.proxyPolicies.map((each) => each.metadata.name)).toEqual(['policy-of-a'])
  expect([undecoded, problems]).toMatchObject([[], [{ stays: true }]])
  store.remove(policy('a'), POLICY)
  store.put({ metadata: metadata('policy-of-a'), spec: 5 }, POLICY, API)
  expect(atOnce(store.collected()).undecoded).toMatchObject([{ name: 'policy-of-a' }])
})

describe('a Service, which has no generation', () => {
  const service = (more: object, content: object = { spec: { ports: [{ port: 80 }] } }) => ({
    metadata: { name: 'backend', namespace: 'shop', uid: '1', resourceVersion: '7', ...more },
    ...content,
  })
  const storeWith = (): ReturnType<typeof createObjectStore> => {
    const store = createObjectStore(kinds)
    expect(store.put(service({}), SERVICE, 'v1')).toBe(true)
    return store
  }

  test.each([
    ['nothing but its version', service({ resourceVersion: '8' })],
    ['its managed fields', service({ managedFields: [{ manager: 'kubectl' }] })],
    ['its annotations', service({ annotations: { 'example.com/seen': 'now' } })],
  ])('of which %s changes is no change', (_name, after) => {
    expect(storeWith().put(after, SERVICE, 'v1')).toBe(false)
  })

  test.each([
    ['its ports', service({}, { spec: { ports: [{ port: 81 }] } })],
    ['its labels', service({ labels: { team: 'a' } })],
    [
      'the address of its load balancer',
      service(
        {},
        {
          spec: { ports: [{ port: 80 }] },
          status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } },
        },
      ),
    ],
    ['the object of its name', service({ uid: '2' })],
  ])('of which %s changes is one', (_name, after) => {
    expect(storeWith().put(after, SERVICE, 'v1')).toBe(true)
  })
})
