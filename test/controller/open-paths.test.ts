// HTTPRoutes without a policy that take requests below a protected path.

import { expect, test } from 'vitest'
import { createOpenPaths, type OtherRoute } from '../../src/controller/open-paths.js'
import type { MeshRoute } from '../../src/ir/mesh-route.js'

const protectedRoute = (path: string, hostnames: readonly string[] = []): MeshRoute => ({
  ...{ namespace: 'default', name: 'app', source: 'kubernetes', policies: [], parents: [] },
  hostnames,
  rules: [
    {
      matches: [{ path: { type: 'PathPrefix', value: path }, headers: [] } as { headers: [] }],
      ...{ filters: [], backendRefs: [], timeouts: {} },
    },
  ],
  gateways: [{ namespace: 'default', name: 'eg' }],
  ...{ isGuarded: false, isEndless: false, problems: [] },
  sealing: { labels: {}, problems: [] },
})

const other = (path: string, more: Partial<OtherRoute> = {}, isNarrower = false): OtherRoute => ({
  ...{ namespace: 'default', name: 'other', hostnames: [], parents: [{ name: 'eg' }] },
  paths: [{ path, isNarrower }],
  ...more,
})

test.each([
  ['a longer path', '/app', other('/app/files'), true],
  ['any path, below the root', '/', other('/public'), true],
  ['the same path with a further condition', '/app', other('/app', {}, true), true],
  ['the same path', '/app', other('/app'), false],
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
