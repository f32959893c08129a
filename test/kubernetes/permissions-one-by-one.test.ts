// Each permission of the chart's roles is needed: when it alone is missing, the log or /readyz names it.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, type ReplicaOptions, startReplica } from '../../testing/replica.js'
import { selfSigned } from '../support/certificates.js'
import { backendRef, gateway, httpRoute, proxyBackend } from '../support/resources.js'
import { someRows } from '../support/some-rows.js'
import { gatewayClass, policy, tlsSecret } from './support/objects.js'
import { containerNamed } from './support/pod.js'
import {
  type Missing,
  type Permission,
  permissionsOf,
  rendered,
  rolesFor,
  type Values,
} from './support/roles.js'
import { apiServerFor } from './support/shared-api-server.js'

const NAMED = [{ namespace: 'default', secrets: ['certificate'], configMaps: ['authority'] }]
const WHOLE: Values = { references: NAMED }
const ALL_REFERENCES: Values = { references: 'all' }
const ONE_NAMESPACE: Values = { references: NAMED, namespaces: ['default'] }
const ON_DEMAND = ['secrets', 'configmaps']
const PATIENCE = 30_000

let api: ApiServer
let users = 0

/** Checks while one verb is missing, and once none is. */
interface Seen {
  readonly named: (replica: Replica, refusal: string) => Promise<void> | void
  readonly well: (replica: Replica) => Promise<void> | void
}

/** Takes each verb away, one after the other, from a replica with a user of its own. */
async function missEach(
  permission: Permission,
  values: Values,
  options: Partial<ReplicaOptions>,
  { named, well }: Seen,
): Promise<void> {
  users += 1
  const user = `guest-${String(users)}`
  const allow = (verb?: string) =>
    api.apply(...rolesFor(user, values, verb === undefined ? verb : { permission, verb }))
  await allow(permission.verbs[0])
  const replica = await startReplica({
    kubeconfig: await api.kubeconfig(user),
    name: user,
    ...options,
  })
  for (const verb of permission.verbs) {
    await allow(verb)
    await eventually(() => named(replica, refusalOf(permission, verb)), PATIENCE)
  }
  await allow()
  await eventually(() => well(replica), PATIENCE)
  await replica.stop()
}

/** A watch is refused without a sentence. */
const refusalOf = ({ resource }: Permission, verb: string): string =>
  verb === 'watch' ? 'it cannot be watched: HTTP 403' : `cannot ${verb} resource "${resource}"`

/** A line of the log has both. */
function expectLogged(replica: Replica, beginning: string, refusal: string): void {
  const lines = replica.log().split('\n')
  const found = lines.filter((line) => line.includes(beginning))
  expect(found.join('\n')).toContain(refusal.replaceAll('"', '\\"'))
}

function pathOf({ group, resource }: Permission): string {
  const [plural = ''] = resource.split('/')
  if (group === '') return `/api/v1/${plural}`
  return `/apis/${group}/${group === 'policy.gatehouse.dev' ? 'v1alpha1' : 'v1'}/${plural}`
}

/** Path of the only object of this kind. */
async function pathOfOne(permission: Permission): Promise<string> {
  const list = (await api.call('GET', pathOf(permission))) as unknown as { items: AnyObject[] }
  const { namespace, name = '' } = list.items[0]?.metadata ?? {}
  const where = namespace === undefined ? '' : `namespaces/${namespace}/`
  return `${pathOf(permission).replace(/[^/]+$/, `${where}$&`)}/${name}`
}

/** The kind by its name at the API server, e.g. HTTPRoute. */
const kindOf = async (permission: Permission): Promise<string> =>
  (await api.call('GET', pathOf(permission))).kind.replace(/List$/, '')

async function statusesOf(replica: Replica, kind: string): Promise<string> {
  const { resources } = JSON.parse(await replica.status()) as { resources: { kind: string }[] }
  return JSON.stringify(resources.filter((each) => each.kind === kind))
}

/** Permissions, each with its description for the title of a test. */
const rowsOf = (
  values: Values,
  isMeant: (permission: Permission) => boolean,
  kinds?: string[],
): readonly (readonly [string, Permission, Values])[] =>
  someRows(permissionsOf(values, kinds).filter(isMeant), 'permissions').map((permission) => [
    permission.resource,
    permission,
    values,
  ])

const isStatus = ({ resource }: Permission): boolean => resource.endsWith('/status')
const isLease = ({ resource }: Permission): boolean => resource === 'leases'
const isOnDemand = ({ resource }: Permission): boolean => ON_DEMAND.includes(resource)
const isRead = (permission: Permission): boolean =>
  !isStatus(permission) && !isLease(permission) && !isOnDemand(permission)

beforeAll(async () => {
  api = await apiServerFor()
  const pair = selfSigned('shop.example')
  const shop = gateway([
    {
      name: 'https',
      port: 8443,
      protocol: 'HTTPS',
      tls: { certificateRefs: [{ name: 'certificate' }] },
    },
  ])
  const [of] = [{ group: 'policy.gatehouse.dev', kind: 'ProxyBackend', name: 'app' }]
  await api.apply(
    tlsSecret('certificate', pair),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'authority' },
      data: { 'ca.crt': pair.cert },
    },
    gatewayClass(),
    {
      ...shop,
      spec: { ...shop.spec, allowedListeners: { namespaces: { from: 'Same' } } },
    },
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'ListenerSet',
      metadata: { name: 'app' },
      spec: {
        parentRef: { name: 'gw' },
        listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }],
      },
    },
    proxyBackend('app', { host: 'shop.example', port: 443 }),
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'BackendTLSPolicy',
      metadata: { name: 'app' },
      spec: {
        targetRefs: [of],
        validation: {
          hostname: 'shop.example',
          caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'authority' }],
        },
      },
    },
    httpRoute('app', { rules: [{ backendRefs: [backendRef('app')] }] }),
    policy('app', { authorization: { policy: { matchExpressions: ['true'] } } }),
    {
      apiVersion: 'policy.gatehouse.dev/v1alpha1',
      kind: 'ProxyParameters',
      metadata: { name: 'app' },
      spec: { env: [] },
    },
  )
})

afterAll(() => api.close())

describe('without the permission to write', () => {
  const allow = (without?: Missing) => api.apply(...rolesFor('guest', WHOLE, without))
  let replica: Replica

  beforeAll(async () => {
    await allow()
    replica = await startReplica({ kubeconfig: await api.kubeconfig('guest') })
  })

  afterAll(() => replica.stop())

  test.each(rowsOf(WHOLE, isStatus))(
    '%s, everything is served and the log names it',
    async (_, permission) => {
      const path = await pathOfOne(permission)
      const hasStatus = () =>
        eventually(async () => {
          const { status } = await api.call('GET', path)
          expect(JSON.stringify(status)).toContain('"status":"True","type":"Accepted"')
        }, PATIENCE)
      await hasStatus()
      for (const verb of permission.verbs) {
        await allow({ permission, verb })
        await api.call('PATCH', `${path}/status`, { status: null })
        const beginning = `the status of ${await kindOf(permission)} `
        const refusal = refusalOf(permission, verb)
        await eventually(() => expectLogged(replica, beginning, refusal), PATIENCE)
        expect((await replica.readiness()).status).toBe(200)
      }
      await allow()
      await hasStatus()
    },
  )
})

describe.concurrent('without the permission to read', () => {
  test.each([...rowsOf(WHOLE, isRead), ...rowsOf(ONE_NAMESPACE, isRead, ['ClusterRole'])])(
    '%s, nothing is published until it is there',
    async (_, permission, values) => {
      const flags = values === ONE_NAMESPACE ? ['--namespace', 'default'] : []
      const kind = await kindOf(permission)
      await missEach(
        permission,
        values,
        { unready: true, flags },
        {
          named: async (replica, refusal) => {
            const { status, text } = await replica.readiness()
            expect(status).toBe(503)
            const lines = text.split('\n').filter((line) => line.includes(`kubernetes: ${kind} `))
            expect(lines.join('\n')).toContain(refusal)
          },
          well: async (replica) => expect((await replica.readiness()).status).toBe(200),
        },
      )
    },
  )

  test.each([...rowsOf(WHOLE, isOnDemand), ...rowsOf(ALL_REFERENCES, isOnDemand)])(
    '%s, the log names the object, and without it what refers to it is refused',
    async (_, permission, values) => {
      const [object, referrer] =
        permission.resource === 'secrets'
          ? ['Secret default/certificate', 'Gateway']
          : ['ConfigMap default/authority', 'BackendTLSPolicy']
      await missEach(
        permission,
        values,
        {},
        {
          named: async (replica, refusal) => {
            expectLogged(replica, `kubernetes: ${object}: cannot be read`, refusal)
            // What may only not be watched has been listed, and stays as it was.
            if (refusal.includes('list'))
              expect(await statusesOf(replica, referrer)).toContain('"status":"False"')
          },
          well: async (replica) =>
            expect(await statusesOf(replica, referrer)).not.toContain('"status":"False"'),
        },
      )
    },
  )
})

describe.concurrent('without the permission for the Lease', () => {
  test.each(someRows(permissionsOf(WHOLE).filter(isLease), 'permissions'))(
    'to $verbs it, everything is served and the log names it',
    async (permission) => {
      const values = { ...WHOLE, fullnameOverride: `to-${permission.verbs.join('-')}` }
      const { env = [] } = containerNamed(rendered(values), 'gatehouse')
      const { value: lease = '' } = env.find(({ name }) => name === 'LEASE_NAME') ?? {}
      await missEach(
        permission,
        values,
        { lease },
        {
          named: async (replica, refusal) => {
            const problem = refusal.includes('cannot list')
              ? 'no status is written, as other releases cannot be told apart: HTTP 403'
              : 'the Lease cannot be acquired: HTTP 403'
            expectLogged(replica, problem, refusal)
            expect((await replica.readiness()).status).toBe(200)
          },
          // All of them read the whole cluster, so one of them writes.
          well: (replica) =>
            expect(replica.log()).toMatch(/this replica (writes|does not write status: another)/),
        },
      )
    },
  )
})
