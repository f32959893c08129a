// What the controller of a mesh wants to be applied: by route, merged, and closed where a route cannot be exported.

import { describe, expect, test } from 'vitest'
import { envoyGatewayExport } from '../../../../src/addons/mesh/controller/envoy-gateway.js'
import { remembering, wantedWork } from '../../../../src/addons/mesh/controller/wanted.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const gateway = { namespace: 'default', name: 'eg' }

const route = (name: string, more: Partial<MeshRoute> = {}): MeshRoute => ({
  namespace: 'default',
  name,
  source: 'kubernetes',
  policies: [{ namespace: 'default', name }],
  parents: [],
  hostnames: [],
  rules: [],
  gateways: [gateway],
  authz: { key: `default/${name}/0`, paths: [], filtersLists: false },
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
  ...more,
})

const mesh = envoyGatewayExport({
  gatehouse: {
    host: 'gatehouse.infra.svc.cluster.local',
    port: 18_000,
    service: { namespace: 'infra', name: 'gatehouse' },
  },
  closed: { host: '127.0.0.1', port: 9 },
})

const wanted = (...routes: readonly MeshRoute[]) => atOnce(wantedWork(routes, mesh))

const keyOf = (text: string): unknown => expect.objectContaining({ value: text })

describe('a route that cannot be exported', () => {
  test('is closed by a key that no table has, and the others are exported', () => {
    const { objects, routes } = wanted(
      route('broken', { problems: ['ProxyPolicy default/broken is not valid'], isRefused: true }),
      route('whole'),
    )
    expect(routes.map(({ problems }) => problems)).toEqual([
      ['HTTPRoute default/broken: ProxyPolicy default/broken is not valid'],
      [],
    ])
    for (const [name, key] of [
      ['broken', 'default/broken/refused'],
      ['whole', 'default/whole/0'],
    ])
      expect(objects.get(`SecurityPolicy/default/gatehouse-${name ?? ''}`)).toMatchObject({
        manifest: { spec: { extAuth: { failOpen: false, contextExtensions: [keyOf(key ?? '')] } } },
      })
  })

  test('is closed too if only a ListenerSet that Gatehouse does not know is its parent', () => {
    const group = 'gateway.networking.x-k8s.io'
    const { objects } = wanted(
      route('set', {
        parents: [{ group, kind: 'XListenerSet', name: 'team' }],
        gateways: [],
        problems: ['a reason'],
        isRefused: true,
      }),
    )
    expect(objects.get('SecurityPolicy/default/gatehouse-set')).toMatchObject({
      manifest: { spec: { extAuth: { contextExtensions: [keyOf('default/set/refused')] } } },
    })
  })

  test('is left alone if it is only audited', () => {
    const audited = route('audited', {
      problems: ['a reason'],
      authz: { key: 'default/audited/0', paths: [], filtersLists: false, isAudited: true },
    })
    const { objects, routes } = wanted(audited)
    expect([...objects]).toEqual([])
    expect(routes).toMatchObject([{ problems: ['HTTPRoute default/audited: a reason'], needs: [] }])
  })
})

test('routes share objects, whose owners are the Gateways of their namespace', () => {
  const { objects } = wanted(
    route('a'),
    route('b', { namespace: 'other', gateways: [gateway, { namespace: 'other', name: 'own' }] }),
  )
  expect(objects.get('ReferenceGrant/infra/gatehouse')).toMatchObject({
    owners: [],
    manifest: {
      spec: {
        from: ['default', 'other'].flatMap((namespace) =>
          ['SecurityPolicy', 'EnvoyExtensionPolicy'].map((kind): unknown =>
            expect.objectContaining({ kind, namespace }),
          ),
        ),
      },
    },
  })
  const owners = [...objects].map(([key, object]) => [key, object.owners.map(({ name }) => name)])
  expect(Object.fromEntries(owners)).toMatchObject({
    'SecurityPolicy/default/gatehouse-a': ['eg'],
    'SecurityPolicy/other/gatehouse-b': ['own'],
    'ClientTrafficPolicy/default/gatehouse-eg': ['eg'],
  })
})

test.each([
  ['first', (mcp: MeshRoute, other: MeshRoute) => [mcp, other]],
  ['second', (mcp: MeshRoute, other: MeshRoute) => [other, mcp]],
])(
  'a route whose documents have the name of another route, and which comes %s, is closed',
  (_, order) => {
    const documents = {
      route: 'gatehouse-documents-mcp',
      documents: ['/.well-known/oauth-protected-resource/mcp'],
      cors: {
        allowOrigins: ['*'],
        allowMethods: [],
        allowHeaders: [],
        exposeHeaders: [],
        allowCredentials: false,
      },
      pages: [],
    }
    const { routes, objects } = wanted(
      ...order(route('mcp', { documents }), route('documents-mcp')),
    )
    const problems = routes.map(({ route: { name }, problems: all }) => [name, all.length])
    expect(Object.fromEntries(problems)).toEqual({ mcp: 1, 'documents-mcp': 0 })
    for (const [name, key] of [
      ['mcp', 'default/mcp/refused'],
      ['documents-mcp', 'default/documents-mcp/0'],
    ])
      expect(objects.get(`SecurityPolicy/default/gatehouse-${name ?? ''}`)).toMatchObject({
        manifest: { spec: { extAuth: { contextExtensions: [keyOf(key ?? '')] } } },
      })
  },
)

test('a route that stays the same is exported once', () => {
  const exported: string[] = []
  const counting = remembering({
    ...mesh,
    ofRoute: (one) => {
      exported.push(one.name)
      return mesh.ofRoute(one)
    },
  })
  const [first, second] = [route('a'), route('b')]
  const before = atOnce(wantedWork([first, second], counting))
  const after = atOnce(wantedWork([first, route('b')], counting))
  expect(exported).toEqual(['a', 'b', 'b'])
  expect([...after.objects]).toEqual([...before.objects])
})
