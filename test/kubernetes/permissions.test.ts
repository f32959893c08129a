// The chart's permissions are sufficient. permissions-one-by-one.test.ts shows that each is needed.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { selfSigned } from '../support/certificates.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, policy, service } from './support/objects.js'
import { rolesFor, type Values } from './support/roles.js'
import { apiServerFor } from './support/shared-api-server.js'

const CERTIFICATE = [{ namespace: 'default', secrets: ['certificate'] }]

const roles = (values: Values): readonly AnyObject[] => rolesFor('guest', values)

let api: ApiServer
let replica: Replica
let bound: readonly AnyObject[] = []

async function start(
  objects: readonly AnyObject[],
  options: { readonly flags?: readonly string[] } = {},
): Promise<void> {
  bound = objects
  await api.apply(...objects)
  replica = await startReplica({ kubeconfig: await api.kubeconfig('guest'), ...options })
}

beforeAll(async () => {
  api = await apiServerFor()
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

test('a Secret that only a Gateway of another controller names is not read', async () => {
  const foreign = {
    name: 'https',
    port: 443,
    protocol: 'HTTPS',
    tls: { certificateRefs: [{ name: 'theirs' }] },
  }
  const { metadata, spec, ...kind } = gateway([foreign], 'foreign')
  const theirs = { ...kind, metadata, spec: { ...spec, gatewayClassName: 'other' } }
  await api.apply(gatewayClass('other', 'example.com/other'), theirs)
  // A Secret that a Gateway of ours names, and that the roles do not have: the log says that it was asked for.
  const [named] = [{ ...foreign, tls: { certificateRefs: [{ name: 'unreadable' }] } }]
  const ours = gateway([named], 'ours')
  await api.apply(ours)
  await start(roles({ references: CERTIFICATE }))
  await eventually(() => expect(replica.log()).toContain('Secret default/unreadable'), 30_000)
  expect(replica.log()).not.toContain('theirs')
  await api.delete(theirs, ours)
})
