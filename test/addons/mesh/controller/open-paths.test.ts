// HTTPRoutes without a policy that take requests below a protected path.

import { expect, test } from 'vitest'
import {
  createOpenPaths as createWith,
  type OpenPaths,
  type OtherRoute,
} from '../../../../src/addons/mesh/controller/open-paths.js'
import type { PathOrder } from '../../../../src/addons/mesh/controller/path-overlap.js'
import { atOnce } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const ENVOY_GATEWAY: PathOrder = ['prefix', 'pattern', 'exact']

const belowAtOnce = (paths: OpenPaths) => ({
  below: (route: MeshRoute) => atOnce(paths.below(route)),
})

const createOpenPaths = (others: readonly OtherRoute[]) =>
  belowAtOnce(
    createWith(others, { order: ENVOY_GATEWAY, listenersOf: () => [], createdOf: () => 5 }),
  )

const protectedRoute = (
  path: string,
  hostnames: readonly string[] = [],
  type: 'PathPrefix' | 'Exact' = 'PathPrefix',
): MeshRoute => ({
  namespace: 'default',
  name: 'app',
  source: 'kubernetes',
  policies: [],
  parents: [],
  hostnames,
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
})

const other = (
  path: string,
  more: Partial<OtherRoute> = {},
  isNarrower = false,
  isExact = false,
): OtherRoute => ({
  namespace: 'default',
  name: 'other',
  hostnames: [],
  parents: [{ name: 'eg' }],
  paths: [{ path, type: isExact ? 'exact' : 'prefix', isNarrower }],
  ...more,
})

test.each([
  ['a longer path', '/app', other('/app/files'), true],
  ['any path, below the root', '/', other('/public'), true],
  ['the same path with a further condition', '/app', other('/app', {}, true), true],
  ['the same path', '/app', other('/app'), false],
  ['exactly the same path', '/app', other('/app', {}, false, true), true],
  ['another path with the same beginning', '/app', other('/apple'), false],
  ['a shorter path', '/app', other('/'), false],
  [
    'a longer path of another Gateway',
    '/app',
    other('/app/x', { parents: [{ name: 'b' }] }),
    false,
  ],
  [
    'a longer path of a Gateway with that name elsewhere',
    '/app',
    other('/app/x', { namespace: 'far' }),
    false,
  ],
])('%s of a route without a policy', (_, path, one, isOpen) => {
  const found = createOpenPaths([other('/zzz'), one, other('/a')]).below(protectedRoute(path))
  if (isOpen) expect(found).toContain('HTTPRoute default/other takes requests of')
  else expect(found).toBeUndefined()
})

test.each([
  [['a.example'], ['a.example'], true],
  [['a.example'], ['b.example'], false],
  [['*.example'], ['b.example'], true],
  [['a.example'], [], true],
])('host names %j beside %j', (own, others, isOpen) => {
  const paths = createOpenPaths([other('/app/x', { hostnames: others })])
  expect(paths.below(protectedRoute('/app', own)) !== undefined).toBe(isOpen)
})

test.each([
  ['a longer path', other('/app/files'), false],
  ['the same path with a further condition', other('/app', {}, true, true), true],
  ['the same path', other('/app', {}, false, true), false],
  ['a prefix of the same path', other('/app'), false],
  ['a prefix of the same path with a further condition', other('/app', {}, true), false],
])('%s of a route without a policy beside an exact path', (_, one, isOpen) => {
  const found = createOpenPaths([one]).below(protectedRoute('/app', [], 'Exact'))
  expect(found !== undefined).toBe(isOpen)
})

test.each([
  ['a document', other('/.well-known/x/mcp', {}, false, true), true],
  ['a path below a document', other('/.well-known/x/mcp/y'), true],
  ['a page of the relay', other('/.well-known/x/mcp/authorize', {}, true, true), true],
  ['another document', other('/.well-known/x/other'), false],
])('%s that a route without a policy takes', (_, one, isOpen) => {
  const documents = {
    route: 'gatehouse-documents-app',
    documents: ['/.well-known/x/mcp'],
    pages: ['/.well-known/x/mcp/authorize'],
    cors: {
      allowOrigins: [],
      allowMethods: [],
      allowHeaders: [],
      exposeHeaders: [],
      allowCredentials: false,
    },
  }
  const found = createOpenPaths([one]).below({ ...protectedRoute('/mcp'), documents })
  expect(found !== undefined).toBe(isOpen)
})

test('one of another namespace has no name', () => {
  const parents = [{ namespace: 'default', name: 'eg' }]
  const found = createOpenPaths([other('/app/x', { namespace: 'far', parents })])
  expect(found.below(protectedRoute('/app'))).toBe(
    'an HTTPRoute of another namespace takes requests of /app/x, and has no policy',
  )
})
