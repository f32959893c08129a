// What the controller wants to be applied for Istio: an EnvoyFilter for each route, and what is done about equal names.

import { describe, expect, test } from 'vitest'
import { istioExport } from '../../../../src/addons/mesh/controller/istio.js'
import { type Wanted, wantedWork } from '../../../../src/addons/mesh/controller/wanted.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute, MeshRule } from '../../../../src/model/mesh-route.js'

const gateway = { namespace: 'infra', name: 'edge' }
const parent = { group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }

const ruleOf = (name?: string): MeshRule => ({
  ...(name === undefined ? {} : { name }),
  matches: [],
  filters: [],
  backendRefs: [],
  timeouts: {},
})

const route = (namespace: string, name: string, more: Partial<MeshRoute> = {}): MeshRoute => ({
  namespace,
  name,
  source: 'kubernetes',
  policies: [{ namespace, name }],
  parents: [parent],
  hostnames: [],
  rules: [ruleOf()],
  gateways: [gateway],
  authz: { key: `${namespace}/${name}/0`, paths: [], filtersLists: false },
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
  ...more,
})

const audited = (namespace: string, name: string, more: Partial<MeshRoute> = {}): MeshRoute =>
  route(namespace, name, {
    authz: { key: `${namespace}/${name}/0`, paths: [], filtersLists: false, isAudited: true },
    ...more,
  })

const mesh = istioExport({
  gatehouse: { host: 'gatehouse.infra.svc.cluster.local', port: 18_000 },
})

const wanted = (...routes: readonly MeshRoute[]): Wanted => atOnce(wantedWork(routes, mesh))

/** The keys that the routes of each name are checked with. */
function keysByName({ objects }: Wanted): Record<string, string[]> {
  const found: Record<string, string[]> = {}
  for (const { manifest } of objects.values()) {
    const { configPatches = [] } = manifest.spec as { readonly configPatches?: readonly object[] }
    for (const patch of configPatches) {
      const text = JSON.stringify(patch)
      const [, name] = /"vhost":\{"route":\{"name":"([^"]+)"/.exec(text) ?? []
      const [, key] = /"gatehouse\.route":"([^"]+)"/.exec(text) ?? []
      if (name !== undefined && key !== undefined) (found[name] ??= []).push(key)
    }
  }
  for (const keys of Object.values(found)) keys.sort()
  return found
}

const problemsOf = ({ routes }: Wanted): unknown =>
  Object.fromEntries(
    routes.map(({ route: { namespace, name }, problems }) => [`${namespace}/${name}`, problems]),
  )

test('each route has an EnvoyFilter of its own beside that of its Gateway', () => {
  const all = wanted(route('a', 'b.c'), route('a', 'd'))
  expect([...all.objects.keys()].sort()).toEqual([
    'EnvoyFilter/infra/gatehouse-edge',
    'EnvoyFilter/infra/gatehouse.a.b.c',
    'EnvoyFilter/infra/gatehouse.a.d',
  ])
  expect(all.objects.get('EnvoyFilter/infra/gatehouse.a.d')?.owners).toEqual([gateway])
  expect(all.objects.get('EnvoyFilter/infra/gatehouse-edge')?.manifest.spec).toMatchObject({
    targetRefs: [{ kind: 'Gateway', name: 'edge' }],
  })
})

test('a rule that is added at the end is checked from its beginning', () => {
  expect(keysByName(wanted(route('a', 'app')))).toEqual({
    'a.app.0': ['a/app/0'],
    'a.app.1': ['a/app/0'],
  })
})

test('a route whose audits need one more filter gets it for the whole Gateway', () => {
  const filters = ({ objects }: Wanted): string =>
    JSON.stringify(objects.get('EnvoyFilter/infra/gatehouse-edge')?.manifest)
  const both = [route('a', 'app'), audited('b', 'app')] as const
  expect(filters(wanted(...both))).toBe(filters(wanted(both[1])))
  expect(filters(wanted(...both.toReversed()))).toBe(filters(wanted(both[1])))
})

test('names that are too long for an object differ by a hash', () => {
  const [one, other] = ['1', '2'].map((end) => 'x'.repeat(250) + end)
  const keys = [...wanted(route('a', one ?? ''), route('a', other ?? '')).objects.keys()]
  expect(new Set(keys).size).toBe(3)
  for (const key of keys) expect(key.split('/')[2]?.length).toBeLessThanOrEqual(253)
})

describe('two routes of one Gateway with a rule of the same name', () => {
  const own = route('a', 'app')
  const same = { rules: [ruleOf('a.app.0')] }

  test('are both closed, say why, and keep no other route from its policy', () => {
    const all = wanted(own, route('b', 'other', same), route('c', 'third'))
    expect(keysByName(all)).toMatchObject({
      'a.app.0': ['a/app/refused', 'b/other/refused'],
      'c.third.0': ['c/third/0'],
    })
    expect(problemsOf(all)).toEqual({
      'a/app': [
        expect.stringContaining('"a.app.0" to a rule of it and to one of an HTTPRoute of another'),
      ],
      'b/other': [expect.stringContaining('to one of an HTTPRoute of another namespace')],
      'c/third': [],
    })
  })

  test('are both closed if the name is that of a rule which may be added', () => {
    const all = wanted(own, route('b', 'other', { rules: [ruleOf('a.app.1')] }))
    expect(keysByName(all)['a.app.1']).toEqual(['a/app/refused', 'b/other/refused'])
  })

  test('are both closed if it is a name of documents', () => {
    const documents = {
      route: 'gatehouse-documents-app',
      documents: ['/.well-known/x'],
      pages: [],
      cors: {
        allowOrigins: ['*'],
        allowMethods: [],
        allowHeaders: [],
        exposeHeaders: [],
        allowCredentials: false,
      },
    }
    const all = wanted(
      route('a', 'app', { documents }),
      route('b', 'other', { rules: [ruleOf('a.gatehouse-documents-app.0')] }),
    )
    expect(keysByName(all)).toMatchObject({
      'a.app.0': ['a/app/refused'],
      'a.gatehouse-documents-app.0': ['b/other/refused'],
    })
  })

  test.each([
    ['first', (...both: MeshRoute[]) => both],
    ['last', (...both: MeshRoute[]) => both.toReversed()],
  ])('one of which is only audited and comes %s: that one is left out', (_, order) => {
    const all = wanted(...order(audited('b', 'other', same), own))
    expect(keysByName(all)['a.app.0']).toEqual(['a/app/0'])
    expect(problemsOf(all)).toMatchObject({
      'a/app': [],
      'b/other': [expect.stringContaining('an HTTPRoute of another namespace')],
    })
  })

  test('are both served if they have no Gateway in common', () => {
    const elsewhere = { gateways: [{ namespace: 'b', name: 'edge' }] }
    const all = wanted(own, route('b', 'other', { ...same, ...elsewhere }))
    expect(keysByName(all)['a.app.0']).toEqual(['a/app/0', 'b/other/0'])
    expect(problemsOf(all)).toEqual({ 'a/app': [], 'b/other': [] })
  })
})

test('rules of one route with the same name are patched once', () => {
  const same = route('a', 'app', { rules: [ruleOf('main'), ruleOf('main'), ruleOf('a.app.3')] })
  expect(keysByName(wanted(same))).toMatchObject({ main: ['a/app/0'] })
  const patches = wanted(same).objects.get('EnvoyFilter/infra/gatehouse.a.app')?.manifest
  expect(JSON.stringify(patches).match(/"websocket"/g)).toHaveLength(2)
})

test('a closed route says nothing about upgrades, which another route of its name may do', () => {
  const closed = route('a', 'app', { problems: ['a reason'], isRefused: true })
  expect(JSON.stringify([...wanted(closed).objects])).not.toContain('websocket')
})

test('a route with a parent that is no Gateway is closed at its Gateway', () => {
  const parents = [parent, { group: '', kind: 'Service', name: 'app' }]
  const all = wanted(route('a', 'app', { parents }))
  expect(keysByName(all)['a.app.0']).toEqual(['a/app/refused'])
  expect(problemsOf(all)).toEqual({
    'a/app': [expect.stringContaining('Service app is its parent')],
  })
})
