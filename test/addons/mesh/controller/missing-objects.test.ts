// What a policy's condition says while an object that its route needs is not there, or cannot be applied.

import { expect, test } from 'vitest'
import {
  type EnforcementSources,
  enforcementWork,
} from '../../../../src/addons/mesh/controller/enforcement.js'
import { istioExport } from '../../../../src/addons/mesh/controller/istio.js'
import { type Wanted, wantedWork } from '../../../../src/addons/mesh/controller/wanted.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const gateway = { namespace: 'infra', name: 'edge' }
const policy = { namespace: 'team', name: 'login' }

const route: MeshRoute = {
  namespace: 'team',
  name: 'app',
  source: 'kubernetes',
  policies: [policy],
  parents: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }],
  hostnames: [],
  gateways: [gateway],
  isGuarded: false,
  isEndless: false,
  problems: [],
  rules: [{ matches: [], filters: [], backendRefs: [], timeouts: {} }],
  authz: { key: 'team/app/0', paths: [], filtersLists: false },
  sealing: { labels: {}, problems: [] },
}

const wanted: Wanted = atOnce(
  wantedWork([route], istioExport({ gatehouse: { host: 'gatehouse.infra', port: 18_000 } })),
)

const sources: EnforcementSources = {
  objectOf: () => undefined,
  ofKind: () => [],
  probesOf: () => ({ targets: [], needed: 0 }),
  suspectKinds: [],
  isOwn: () => true,
  probeProblem: () => undefined,
}

const enforcement = (problems: ReadonlyMap<string, string> = new Map()): unknown => [
  ...atOnce(enforcementWork({ wanted, problems }, sources)),
]

test('a policy is not enforced while an object that its route needs is not there, which is named', () => {
  expect(enforcement()).toEqual([
    [
      'team/login',
      {
        policy,
        isEnforced: false,
        reason: 'NotAccepted',
        message: expect.stringMatching(/^EnvoyFilter infra\/\S+ is not there$/) as unknown,
      },
    ],
  ])
})

test('a policy is not enforced while an object that its route needs cannot be applied', () => {
  const [key = ''] = wanted.objects.keys()
  expect(enforcement(new Map([[key, 'forbidden']]))).toMatchObject([
    ['team/login', { policy, reason: 'NotApplied', message: 'forbidden' }],
  ])
})
