// The chart's permissions are enough, and each of them is missed by name.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { selfSigned } from '../support/certificates.js'
import { eventually } from '../support/eventually.js'
import { gateway, httpRoute } from '../support/resources.js'
import type { AnyObject } from './support/api-call.js'
import { startApiServer, type ApiServer } from './support/api-server.js'
import { render } from './support/chart.js'
import { gatewayClass, policy, service } from './support/objects.js'
import { startReplica, type Replica } from './support/replica.js'

interface Rule {
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

type Role = AnyObject & { readonly rules: readonly Rule[] }

const CERTIFICATE = [{ namespace: 'default', secrets: ['certificate'] }]
const KINDS = new Set(['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding'])
const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'gatehouse', namespace: 'default' },
}
const GUEST = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'guest' }

/** The chart's roles, bound to the user that the replica runs as. without: a rule's first resource and verb. */
function roles(values: Readonly<Record<string, unknown>>, without?: readonly [string, string]) {
  const isKept = ({ resources, verbs }: Rule): boolean =>
    without === undefined || !resources.includes(without[0]) || !verbs.includes(without[1])
  return render(values)
    .filter(({ kind }) => KINDS.has(kind))
    .map((object) =>
      object.kind.endsWith('Binding')
        ? { ...object, subjects: [GUEST] }
        : { ...object, rules: (object as Role).rules.filter(isKept) },
    )
}

let api: ApiServer
let replica: Replica
let bound: readonly AnyObject[] = []

const start = async (
  objects: readonly AnyObject[],
  options: { readonly unready?: boolean; readonly flags?: readonly string[] } = {},
): Promise<void> => {
  bound = objects
  await api.apply(...objects)
  replica = await startReplica({ kubeconfig: await api.kubeconfig('guest'), ...options })
}

beforeAll(async () => {
  api = await startApiServer()
  const { cert, key } = selfSigned('shop.example')
  await api.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'certificate' },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': cert, 'tls.key': key },
    },
    gatewayClass(),
    gateway([
      {
        name: 'https',
        port: 8443,
        protocol: 'HTTPS',
        tls: { certificateRefs: [{ name: 'certificate' }] },
      },
    ]),
    service('app'),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
    policy('no-post', {
      authorization: { policy: { matchExpressions: ['request.method == "GET"'] } },
    }),
  )
})

afterEach(async () => {
  await replica.stop()
  await api.delete(...bound)
  // What was written must be written anew by the next one.
  for (const path of [
    '/apis/policy.gatehouse.dev/v1alpha1/namespaces/default/proxypolicies/no-post/status',
    '/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways/gw/status',
  ])
    await api.call('PATCH', path, { status: null })
})

afterAll(() => api.close())

const OURS = 'policy.gatehouse.dev/v1alpha1'
const GATEWAY_API = 'gateway.networking.k8s.io/v1'

const isTrue = (type: string): unknown =>
  expect.arrayContaining([expect.objectContaining({ type, status: 'True' })])

describe.each([
  ['the whole cluster', {}, []],
  ['one namespace', { namespaces: ['default'] }, ['--namespace', 'default']],
])('the roles for %s', (_, values, flags) => {
  test('are enough to read, to get the certificate and to write status', async () => {
    await start(roles({ ...values, references: CERTIFICATE }), { flags })
    await eventually(async () => {
      const { status: policied } = await api.get(OURS, 'ProxyPolicy', 'no-post')
      expect(policied).toMatchObject({ ancestors: [{ conditions: isTrue('Attached') }] })
      const { status: served } = await api.get(GATEWAY_API, 'Gateway', 'gw')
      expect(served).toMatchObject({ listeners: [{ conditions: isTrue('ResolvedRefs') }] })
    }, 30_000)
    expect(replica.log()).not.toContain('"level":"warn"')
  })
})

test('every Secret and ConfigMap may be read where the values say so', async () => {
  await start(roles({ references: 'all' }))
  expect((await replica.readiness()).status).toBe(200)
})

test('a Secret that a Gateway of another controller names is none of ours', async () => {
  const foreign = {
    name: 'https',
    port: 443,
    protocol: 'HTTPS',
    tls: { certificateRefs: [{ name: 'theirs' }] },
  }
  const { metadata, spec, ...kind } = gateway([foreign], 'foreign')
  const theirs = { ...kind, metadata, spec: { ...spec, gatewayClassName: 'other' } }
  await api.apply(gatewayClass('other', 'example.com/other'), theirs)
  await start(roles({ references: CERTIFICATE }))
  expect(replica.log()).not.toContain('theirs')
  await api.delete(theirs)
})

describe('without the permission', () => {
  test('to read a Secret, its listener alone is not served, and that is named', async () => {
    await start(roles({}))
    await eventually(async () => {
      const { status } = await api.get(GATEWAY_API, 'Gateway', 'gw')
      const refused = expect.objectContaining({ type: 'ResolvedRefs', status: 'False' }) as unknown
      expect(status).toMatchObject({
        listeners: [{ conditions: expect.arrayContaining([refused]) as unknown }],
      })
      const said = await (await fetch(`${replica.admin}/status`)).text()
      expect(said).toContain('cannot be read: HTTP 403: secrets \\"certificate\\" is forbidden')
    }, 30_000)
  })

  test.each([
    ['httproutes', 'list', 'HTTPRoute cannot be read: HTTP 403: httproutes'],
    ['services', 'list', 'Service cannot be read: HTTP 403: services'],
    ['gatewayclasses', 'list', 'GatewayClass cannot be read: HTTP 403: gatewayclasses'],
  ])('to read %s, nothing is published and that is named', async (resource, verb, sentence) => {
    await start(roles({ references: CERTIFICATE }, [resource, verb]), { unready: true })
    await eventually(async () => {
      const { status, text } = await replica.readiness()
      expect(status).toBe(503)
      expect(text).toContain(sentence)
    }, 30_000)
  })

  test.each([
    [
      'proxypolicies/status',
      'update',
      'the status of ProxyPolicy default/no-post cannot be written',
    ],
    ['leases', 'create', 'the Lease cannot be had: HTTP 403: leases'],
  ])('of %s to %s, everything is served and the log names it', async (resource, verb, sentence) => {
    if (resource === 'leases') await api.delete(LEASE)
    await start(roles({ references: CERTIFICATE }, [resource, verb]))
    await eventually(() => expect(replica.log()).toContain(sentence), 60_000)
  })
})
