// One change among many routes, each with its own host, backend and policy: the work, counted in recomputed results,
// must not depend on the number of routes.

import type * as cryptoType from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { buildSnapshot, type Snapshot } from '../../../src/control/publish/build-snapshot.js'
import { createResourceCollector } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile, type FileRecord } from '../../../src/control/sources/files/file-record.js'
import type * as virtualHosts from '../../../src/control/translate/routes/hosts/virtual-hosts.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type * as worldType from '../../../src/control/translate/world/world.js'
import { differences } from '../../../src/kit/incremental/diff.js'

const work = vi.hoisted(() => ({ hashes: 0, hosts: 0, users: 0 }))

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof cryptoType>()
  const hash = ((...args: Parameters<typeof crypto.hash>) => {
    work.hashes += 1
    return crypto.hash(...args)
  }) as typeof crypto.hash
  return { ...crypto, hash }
})

vi.mock('../../../src/control/translate/routes/hosts/virtual-hosts.js', async (original) => {
  const { createVirtualHost } = await original<typeof virtualHosts>()
  const counted: typeof createVirtualHost = (...names) => {
    const hostOf = createVirtualHost(...names)
    return (parts) => {
      work.hosts += 1
      return hostOf(parts)
    }
  }
  return { createVirtualHost: counted }
})

vi.mock('../../../src/control/translate/world/world.js', async (original) => {
  const world = await original<typeof worldType>()
  const uniqueGateways: typeof world.uniqueGateways = (gateways) => {
    work.users += 1
    return world.uniqueGateways(gateways)
  }
  return { ...world, uniqueGateways }
})

const XDS = {
  listenAddress: '0.0.0.0',
  trustedHops: 0,
  systemCaFile: '/ca.pem',
  accessLog: false,
}

const KINDS = kindsOf('policy.gatehouse.dev')

const GATEWAY = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: gateway }
spec:
  gatewayClassName: gatehouse
  listeners: [{ name: http, port: 8080, protocol: HTTP }]
`

const routeWith = (name: string, path: string): string => `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: ${name} }
spec:
  parentRefs: [{ name: gateway }]
  hostnames: [${name}.example]
  rules:
    - matches: [{ path: { type: PathPrefix, value: ${path} } }]
      backendRefs: [{ group: policy.gatehouse.dev, kind: ProxyBackend, name: ${name} }]
---
apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyBackend
metadata: { name: ${name} }
spec: { static: { host: 127.0.0.1, port: 80 } }
---
apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: ${name} }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: ${name} }]
  traffic:
    jwtAuthentication:
      mode: Strict
      providers: [{ issuer: 'https://idp.example', jwks: { inline: '{"keys":[]}' } }]
`

/** What a change of one route created again. */
function changeOne(count: number) {
  const collector = createResourceCollector()
  const put = (name: string, path: string, before?: FileRecord): FileRecord => {
    const record = decodeFile(Buffer.from(routeWith(name, path)), name, KINDS, before)
    collector.put(name, record.resources)
    return record
  }
  collector.put('gateway', decodeFile(Buffer.from(GATEWAY), 'gateway', KINDS).resources)
  const records = [...Array(count).keys()].map((index) => put(`route-${String(index)}`, '/a'))
  const translator = createTranslator({
    apiGroup: 'policy.gatehouse.dev',
    clusterDomain: 'cluster.local',
    metadataIssuer: 'Provider',
  })
  const build = (previous?: Snapshot) => {
    const { ir, statuses } = translator.translate(collector.collected().resources, new Map())
    return { statuses, snapshot: buildSnapshot(ir, XDS, previous) }
  }
  const before = build()
  let policiesRead = 0
  // Counts how often the change reads a policy.
  for (const policy of collector.collected().resources.proxyPolicies) {
    const { spec } = policy
    Object.defineProperty(policy, 'spec', { get: () => ((policiesRead += 1), spec) })
  }
  put('route-7', '/b', records[7])
  Object.assign(work, { hashes: 0, hosts: 0, users: 0 })
  const after = build(before.snapshot)
  const { hashes, hosts, users } = work
  const resourcesOf = ({ snapshot }: typeof before) =>
    [...(snapshot.xds.get('*')?.split.values() ?? [])].flatMap((map) =>
      [...map.values()].map(({ name, version }) => `${name} ${version}`),
    )
  const [all, sent] = [resourcesOf(after), differences(resourcesOf(before), resourcesOf(after))]
  expect(all.length).toBeGreaterThan(2 * count)
  return {
    hashes,
    hosts,
    users,
    policiesRead,
    sent: sent.added,
    removed: sent.removed.length,
    statuses: differences(before.statuses, after.statuses).added.length,
    entries: differences(before.snapshot.ir.authz, after.snapshot.ir.authz).added.length,
  }
}

test('costs the same hashes, resources, statuses and entries among 100 routes and among 400', () => {
  const [few, many] = [changeOne(100), changeOne(400)]
  expect(many.sent).toEqual(few.sent)
  expect(many.sent).toHaveLength(1)
  expect(many.removed).toBe(1)
  // The statuses of some parts of the list are looked at again; nothing looks at every policy.
  expect(many.policiesRead).toBeLessThan(400)
  expect(many.statuses).toBe(few.statuses)
  expect(many.entries).toBe(few.entries)
  expect(many.hashes).toBeLessThanOrEqual(few.hashes + 10)
  // The parts of a chunk are not hashed again, nor are the other chunks.
  expect(many.hashes).toBeLessThan(40)
})

test('neither places the other routes of a chunk again, nor collects the users of their backends', () => {
  const { hosts, users } = changeOne(200)
  expect(hosts).toBe(1)
  expect(users).toBeLessThan(10)
})
