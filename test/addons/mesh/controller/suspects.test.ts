// Objects of others that are named if a route of Istio is not proven.

import { expect, test } from 'vitest'
import { suspectsOf } from '../../../../src/addons/mesh/controller/suspects.js'
import type { JsonObject } from '../../../../src/model/json.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const route = {
  namespace: 'infra',
  gateways: [{ namespace: 'infra', name: 'edge' }],
} as unknown as MeshRoute

const object = (namespace: string, spec: JsonObject, name = 'other'): JsonObject => ({
  metadata: { namespace, name },
  spec,
})

const named = (...objects: readonly JsonObject[]): readonly string[] =>
  suspectsOf(route, {
    suspectKinds: ['EnvoyFilter'],
    ofKind: () => objects.map((each) => ['', each] as const),
    isOwn: ({ spec }) => JSON.stringify(spec ?? '').includes('own'),
  })

test.each([
  ['that names the Gateway', object('infra', { targetRefs: [{ name: 'edge' }] }), true],
  ['that names it in the older way', object('infra', { targetRef: { name: 'edge' } }), true],
  ['that names another one', object('infra', { targetRefs: [{ name: 'other' }] }), false],
  ['of another namespace', object('other', { targetRefs: [{ name: 'edge' }] }), false],
  ['about its whole namespace', object('infra', {}), true],
  ['about another namespace', object('other', {}), false],
  ['about the mesh', object('istio-system', {}), true],
  ['that Gatehouse applied', object('infra', { targetRefs: [{ name: 'edge' }], own: '' }), false],
  ['without anything', {}, false],
])('an object %s', (_, one, isNamed) => {
  expect(named(one).length > 0).toBe(isNamed)
})

test('at most three are named', () => {
  expect(
    named(...Array.from({ length: 5 }, (_, index) => object('infra', {}, `other-${index}`))),
  ).toHaveLength(3)
})

test('those of another namespace than the route have no name', () => {
  const found = named(
    object('istio-system', {}),
    object('istio-system', {}, 'third'),
    object('infra', {}),
  )
  expect(found).toEqual(['an EnvoyFilter of another namespace', 'EnvoyFilter infra/other'])
})
