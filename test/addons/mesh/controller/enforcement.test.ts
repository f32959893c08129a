// What a policy's condition says about routes that the mesh cannot carry, which are closed or not audited.

import { expect, test } from 'vitest'
import {
  type Enforcement,
  enforcementWork,
} from '../../../../src/addons/mesh/controller/enforcement.js'
import { istioExport } from '../../../../src/addons/mesh/controller/istio.js'
import { wantedWork } from '../../../../src/addons/mesh/controller/wanted.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const gateway = { namespace: 'infra', name: 'edge' }

const mesh = istioExport({
  gatehouse: { host: 'gatehouse.infra.svc.cluster.local', port: 18_000 },
})

/** A route whose rule has the name that Istio gives the rule of HTTPRoute a/app. */
const route = (namespace: string, more: Partial<MeshRoute> = {}): MeshRoute => ({
  namespace,
  name: 'app',
  source: 'kubernetes',
  policies: [{ namespace, name: 'app' }],
  parents: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }],
  hostnames: [],
  gateways: [gateway],
  rules: [{ name: 'a.app.0', matches: [], filters: [], backendRefs: [], timeouts: {} }],
  authz: { key: `${namespace}/app/0`, paths: [], filtersLists: false },
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
  ...more,
})

const audited = (namespace: string, more: Partial<MeshRoute> = {}): MeshRoute =>
  route(namespace, {
    authz: { key: `${namespace}/app/0`, paths: [], filtersLists: false, isAudited: true },
    ...more,
  })

/** The enforcement of each policy. No probe has been sent. */
function enforcementOf(...routes: readonly MeshRoute[]): Readonly<Record<string, Enforcement>> {
  const wanted = atOnce(wantedWork(routes, mesh))
  const found = enforcementWork(
    { wanted, problems: new Map() },
    {
      objectOf: () => ({}),
      ofKind: () => [],
      probesOf: () => ({ targets: [], needed: 0 }),
      suspectKinds: [],
      isOwn: () => true,
      probeProblem: () => undefined,
    },
  )
  return Object.fromEntries(atOnce(found))
}

test('a route that is only audited has no condition', () => {
  expect(enforcementOf(audited('a'))).toEqual({})
})

test('one that gets no patches because of its name says that it is not audited', () => {
  expect(enforcementOf(route('a'), audited('b'))['b/app']).toMatchObject({
    isEnforced: false,
    reason: 'NotSupported',
    message: expect.stringMatching(
      /of an HTTPRoute of another namespace.*; its requests are not audited$/,
    ) as unknown,
  })
})

test('one that is guarded too, and therefore closed, says that it answers 503', () => {
  expect(enforcementOf(route('a'), audited('b', { isGuarded: true }))['b/app']).toMatchObject({
    isEnforced: false,
    reason: 'NotSupported',
    message: expect.stringMatching(/; it answers 503$/) as unknown,
  })
})

test('a policy of another namespace, that of a Gateway, says nothing of the route but what is wrong', () => {
  const policies = [{ namespace: 'infra', name: 'defaults' }]
  expect(enforcementOf(route('a'), audited('b', { policies }))['infra/defaults']).toMatchObject({
    isEnforced: false,
    message: 'An HTTPRoute of another namespace: the mesh cannot enforce the policy on it',
  })
})
