// HTTPRoutes without a policy that take requests of a protected route by a narrower host, a pattern, or their age.

import { expect, test } from 'vitest'
import {
  createOpenPaths as createWith,
  type OpenListener,
  type OpenPaths,
  type OtherRoute,
} from '../../../../src/addons/mesh/controller/open-paths.js'
import type { PathOrder } from '../../../../src/addons/mesh/controller/path-overlap.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const ENVOY_GATEWAY: PathOrder = ['prefix', 'pattern', 'exact']
const ISTIO: PathOrder = ['pattern', 'prefix', 'exact']

const belowAtOnce = (paths: OpenPaths) => ({
  below: (route: MeshRoute) => atOnce(paths.below(route)),
})

const createOpenPaths = (
  others: readonly OtherRoute[],
  listeners: readonly OpenListener[] = [],
  order = ENVOY_GATEWAY,
) => belowAtOnce(createWith(others, { order, listenersOf: () => listeners, createdOf: () => 5 }))

const own = (path: string, more: Partial<MeshRoute> = {}, type = 'PathPrefix'): MeshRoute => ({
  namespace: 'default',
  name: 'app',
  source: 'kubernetes',
  policies: [],
  parents: [],
  hostnames: [],
  rules: [
    {
      matches: [{ path: { type, value: path }, headers: [] } as { headers: [] }],
      filters: [],
      backendRefs: [],
      timeouts: {},
    },
  ],
  gateways: [{ namespace: 'default', name: 'eg' }],
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
  ...more,
})

const other = (
  path: string,
  more: Partial<OtherRoute> = {},
  type: 'prefix' | 'exact' | 'pattern' = 'prefix',
): OtherRoute => ({
  namespace: 'default',
  name: 'other',
  hostnames: [],
  parents: [{ name: 'eg' }],
  paths: [{ path, type, isNarrower: false }],
  ...more,
})

test.each([
  ['*.example', '/app', 'b.example', true],
  ['*.example', '/', 'b.example', true],
  ['*.example', '/app/x', 'b.example', true],
  ['*.example', '/', '*.b.example', true],
  ['', '/', 'b.example', true],
  ['*.example', '/web', 'b.example', false],
  ['*.example', '/ap', 'b.example', false],
  ['b.example', '/', '*.example', false],
  ['*.example b.example', '/', 'b.example', false],
  ['*.example', '/', 'b.test', false],
])('host "%s": %s of host %s', (hosts, path, host, isOpen) => {
  const paths = createOpenPaths([other('/zzz'), other(path, { hostnames: [host] })])
  const hostnames = hosts.split(' ').filter((each) => each !== '')
  expect(paths.below(own('/app', { hostnames })) !== undefined).toBe(isOpen)
})

test('the host of a listener is that of a route without host names', () => {
  const paths = createOpenPaths(
    [other('/', { hostnames: ['a.example'] })],
    [{ name: 'http', port: 80, hostname: 'a.example' }],
  )
  expect(paths.below(own('/app'))).toBeUndefined()
})

test('a route at another listener takes nothing', () => {
  const parents = [{ name: 'eg', sectionName: 'internal' }]
  const listeners = [
    { name: 'internal', port: 8080 },
    { name: 'http', port: 80 },
  ]
  const paths = createOpenPaths([other('/app/x', { parents })], listeners)
  const parent = { group: '', kind: 'Gateway', name: 'eg', sectionName: 'http' }
  expect(paths.below(own('/app', { parents: [parent] }))).toBeUndefined()
  expect(paths.below(own('/app'))).toContain('default/other')
})

test.each([
  ['/a.*', true],
  ['/(app|web)(/.*)?', true],
  ['/[^/]+/files', true],
  ['/app/v[0-9]+', true],
  ['/(static|img)/.*', false],
  ['/apple', false],
  ['/b.*', false],
  ['(', true],
])('the pattern %s of a route without a policy', (path, mayMatch) => {
  const one = other(path, {}, 'pattern')
  expect(createOpenPaths([one]).below(own('/app')) !== undefined).toBe(mayMatch)
  // Istio prefers prefixes, but of the same host alone.
  expect(createOpenPaths([one], [], ISTIO).below(own('/app'))).toBeUndefined()
  const narrower = createOpenPaths([{ ...one, hostnames: ['b.example'] }], [], ISTIO)
  expect(narrower.below(own('/app')) !== undefined).toBe(mayMatch)
})

test.each([
  ['an exact path', other('/abc', {}, 'exact'), true, true],
  ['an exact path beside it', other('/b', {}, 'exact'), false, false],
  ['a prefix', other('/abc'), false, true],
  ['a longer pattern', other('/ab.*', {}, 'pattern'), true, true],
  ['a pattern of the same length', other('/?a.', {}, 'pattern'), true, true],
  ['a longer pattern beside it', other('/bcd.*', {}, 'pattern'), false, false],
])('%s of a route without a policy beside a pattern', (_, one, inEnvoyGateway, inIstio) => {
  const route = own('/a.*', {}, 'RegularExpression')
  expect(createOpenPaths([one]).below(route) !== undefined).toBe(inEnvoyGateway)
  expect(createOpenPaths([one], [], ISTIO).below(route) !== undefined).toBe(inIstio)
})

test.each([
  [4, true],
  [6, false],
])('an equal match of a route from %i, beside one from 5', (created, isOpen) => {
  const found = createOpenPaths([other('/app', { created })]).below(own('/app'))
  expect(found !== undefined).toBe(isOpen)
})
