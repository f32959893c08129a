// The requests that probe a protected HTTPRoute: which keys the servers must be asked with, for each kind of protection.

import { expect, test } from 'vitest'
import { probeTargets } from '../../../../src/addons/mesh/controller/probe-targets.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const gateway = { namespace: 'infra', name: 'edge' }
const gatewayOf = () => ({
  spec: { listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] },
  status: { addresses: [{ value: '192.0.2.1' }] },
})

const ruleOf = (path: string) => ({
  matches: [{ path: { type: 'PathPrefix', value: path }, headers: [] } as { headers: [] }],
  filters: [],
  backendRefs: [],
  timeouts: {},
})

const route = (more: Partial<MeshRoute>): MeshRoute => ({
  namespace: 'team',
  name: 'app',
  source: 'kubernetes',
  policies: [],
  hostnames: [],
  parents: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }],
  rules: [ruleOf('/one'), ruleOf('/two')],
  gateways: [gateway],
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
  ...more,
})

const authz = { key: 'team/app/0', paths: [], filtersLists: false }
const documents = {
  route: 'gatehouse-documents-app',
  documents: ['/.well-known/oauth-protected-resource/one'],
  pages: ['/.well-known/oauth-authorization-server/one/authorize'],
  cors: {
    allowOrigins: ['*'],
    allowMethods: [],
    allowHeaders: [],
    exposeHeaders: [],
    allowCredentials: false,
  },
}

const keysByPath = (more: Partial<MeshRoute>, hasOneKey = false) =>
  Object.fromEntries(
    probeTargets(route(more), { gatewayOf, hasOneKey }).targets.map(({ path, keys }) => [
      path,
      keys,
    ]),
  )

test.each<[string, Partial<MeshRoute>, object]>([
  ['checked', { authz }, { '/one': { authz: authz.key }, '/two': { authz: authz.key } }],
  [
    'guarded',
    { isGuarded: true },
    { '/one': { proc: 'team/app/0' }, '/two': { proc: 'team/app/1' } },
  ],
  ['only audited', { authz: { ...authz, isAudited: true } }, {}],
])('a route that is %s', (_, more, expected) => {
  expect(keysByPath(more)).toEqual(expected)
})

test('filtered lists need the proof of ext_proc too', () => {
  const keys = { authz: authz.key, proc: 'team/app/0/lists' }
  expect(keysByPath({ authz: { ...authz, filtersLists: true } }, true)).toEqual({
    '/one': keys,
    '/two': keys,
  })
})

test('the documents and the pages of a relay are probed, each with the key of its rule', () => {
  expect(keysByPath({ authz, documents })).toMatchObject({
    '/.well-known/oauth-protected-resource/one': { proc: 'team/gatehouse-documents-app/0' },
    '/.well-known/oauth-authorization-server/one/authorize': {
      proc: 'team/gatehouse-documents-app/1',
    },
  })
})
