// Routes that need many probes: a policy is enforced only once each of them was sent and answered.

import { expect, test } from 'vitest'
import { enforcementWork } from '../../../../src/addons/mesh/controller/enforcement.js'
import { istioExport } from '../../../../src/addons/mesh/controller/istio.js'
import {
  MOST_OF_ALL,
  MOST_OF_ROUTE,
  type ProbeTarget,
  probeTargets,
  withinAMinute,
} from '../../../../src/addons/mesh/controller/probe-targets.js'
import { wantedWork } from '../../../../src/addons/mesh/controller/wanted.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const gateway = { namespace: 'infra', name: 'edge' }

/** Has two listeners. */
const gatewayOf = (addresses: number) => () => ({
  spec: {
    listeners: [80, 8080].map((port) => ({ name: `http-${String(port)}`, protocol: 'HTTP', port })),
  },
  status: {
    addresses: Array.from({ length: addresses }, (_, index) => ({
      value: `192.0.2.${String(index + 1)}`,
    })),
  },
})

const hosts = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `h${String(index)}.example`)

const route = (rules: number, matches: number, hostnames: readonly string[]): MeshRoute => ({
  namespace: 'team',
  name: 'app',
  source: 'kubernetes',
  hostnames,
  policies: [{ namespace: 'team', name: 'login' }],
  parents: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', ...gateway }],
  rules: Array.from({ length: rules }, (_rule, rule) => ({
    matches: Array.from(
      { length: matches },
      (_match, match) =>
        ({
          path: { type: 'PathPrefix', value: `/r${String(rule)}/${String(match)}` },
        }) as object as {
          headers: []
        },
    ),
    filters: [],
    backendRefs: [],
    timeouts: {},
  })),
  gateways: [gateway],
  authz: { key: 'team/app/0', paths: [], filtersLists: true },
  documents: {
    route: 'gatehouse-documents-app',
    documents: ['/.well-known/oauth-protected-resource/app'],
    pages: [],
    cors: {
      allowOrigins: ['*'],
      allowMethods: [],
      allowHeaders: [],
      exposeHeaders: [],
      allowCredentials: false,
    },
  },
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
})

const accepted = {
  status: { parents: [{ parentRef: gateway, conditions: [{ type: 'Accepted', status: 'True' }] }] },
}

/** What the policy's condition says if all probes but those of a path are answered. */
function enforcementOf(one: MeshRoute, addresses: number, open?: string) {
  const mesh = istioExport({ gatehouse: { host: 'gatehouse.infra.svc', port: 18_000 } })
  const wanted = atOnce(wantedWork([one], mesh))
  const probes = probeTargets(one, { gatewayOf: gatewayOf(addresses), hasOneKey: false })
  const found = enforcementWork(
    { wanted, problems: new Map() },
    {
      objectOf: () => accepted,
      ofKind: () => [],
      suspectKinds: [],
      isOwn: () => true,
      probesOf: () => probes,
      probeProblem: ({ path }: ProbeTarget) => (path === open ? 'it is open' : undefined),
    },
  )
  return atOnce(found).get('team/login')
}

test('sixteen hosts at two listeners and two addresses: every rule is probed', () => {
  const one = route(16, 1, hosts(16))
  for (let rule = 0; rule < 16; rule++)
    expect(enforcementOf(one, 2, `/r${String(rule)}/0`)).toMatchObject({ isEnforced: false })
  expect(enforcementOf(one, 2)).toMatchObject({ isEnforced: true })
})

test('sixteen rules with eight matches at two listeners: every match and document is probed', () => {
  const one = route(16, 8, [])
  const { targets } = probeTargets(one, { gatewayOf: gatewayOf(1), hasOneKey: false })
  expect(new Set(targets.map(({ path }) => path)).size).toBe(16 * 8 + 1)
  expect(enforcementOf(one, 1, '/r15/7')).toMatchObject({ isEnforced: false })
  expect(enforcementOf(one, 1, '/.well-known/oauth-protected-resource/app')).toMatchObject({
    isEnforced: false,
  })
})

test('more than can be sent within a minute: none is sent, and the condition says so', () => {
  const one = route(16, 8, hosts(16))
  const { targets, needed } = probeTargets(one, { gatewayOf: gatewayOf(2), hasOneKey: false })
  expect(needed).toBe((16 * 8 + 1) * 16 * 2 * 2)
  expect(needed).toBeGreaterThan(MOST_OF_ROUTE)
  expect(targets).toEqual([])
  expect(enforcementOf(one, 2)).toMatchObject({
    isEnforced: false,
    reason: 'NotProven',
    message: expect.stringMatching(
      / need 8256 probes, which is too many for one minute$/,
    ) as unknown,
  })
})

test('more routes than can be probed within a minute: those with the most probes have none', () => {
  const probesOf = (count: number) => ({
    needed: count,
    targets: Array.from({ length: count }, () => ({})) as unknown as readonly ProbeTarget[],
  })
  const large = Array.from({ length: 12 }, (_, index) => [
    `large ${String(index)}`,
    probesOf(4_000),
  ])
  const all = new Map([...large, ['small', probesOf(3)]] as [string, ReturnType<typeof probesOf>][])
  const probed = [...withinAMinute(all)].filter(([, { targets }]) => targets.length > 0)
  expect(probed.map(([name]) => name)).toContain('small')
  const sent = probed.reduce((sum, [, { targets }]) => sum + targets.length, 0)
  expect(sent).toBeLessThanOrEqual(MOST_OF_ALL)
  expect(sent).toBeGreaterThan(MOST_OF_ALL - 4_000)
})
