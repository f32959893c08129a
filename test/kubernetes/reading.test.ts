// Gatehouse while it cannot read every kind that it needs: it publishes nothing that lacks a kind.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { withoutConflict } from '../../testing/api-call.js'
import { type ApiServer, definitions } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, policy, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const KINDS = [
  ['policy.gatehouse.dev', 'proxypolicies', 'proxybackends', 'proxyparameters'],
  [
    'gateway.networking.k8s.io',
    'gatewayclasses',
    'gateways',
    'listenersets',
    'backendtlspolicies',
    'referencegrants',
  ],
  ['', 'services', 'namespaces'],
  ['discovery.k8s.io', 'endpointslices'],
] as const

const role = (name: string, ...rules: readonly (readonly string[])[]): readonly object[] => [
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules: rules.map(([group, ...resources]) => ({
      apiGroups: [group],
      resources,
      verbs: ['list', 'watch'],
    })),
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'guest' }],
  },
]

let replica: Replica | undefined

afterEach(async () => {
  await replica?.stop()
})

describe('an API server that lets nobody read', () => {
  let api: ApiServer

  beforeAll(async () => {
    api = await apiServerFor()
  })

  afterAll(() => api.close())

  test('every kind that may not be read is named, until the last one may', async () => {
    const started = (replica = await startReplica({
      kubeconfig: await api.kubeconfig('guest'),
      unready: true,
    }))
    await eventually(async () => {
      const { status, text } = await started.readiness()
      expect(status).toBe(503)
      for (const kind of ['ProxyPolicy', 'Gateway', 'HTTPRoute', 'Service', 'EndpointSlice'])
        expect(text).toMatch(new RegExp(`${kind} cannot be read: HTTP 403: .*forbidden`))
    })
    await api.apply(...role('most', ...KINDS))
    await eventually(async () => {
      const { status, text } = await started.readiness()
      expect(status).toBe(503)
      expect(text).toContain('HTTPRoute cannot be read: HTTP 403')
      expect(text).not.toContain('Service cannot be read')
    }, 30_000)
    await api.apply(...role('routes', ['gateway.networking.k8s.io', 'httproutes']))
    await eventually(async () => expect((await started.readiness()).status).toBe(200), 30_000)
  })
})

describe('Gatehouse beside an API server', () => {
  let api: ApiServer

  beforeAll(async () => {
    api = await apiServerFor({ own: true, bare: true })
  })

  afterAll(() => api.close())

  test('without the CRDs of Gatehouse says what to install, and begins by itself when it is there', async () => {
    const started = (replica = await startReplica({
      kubeconfig: await api.kubeconfig(),
      unready: true,
    }))
    await eventually(async () => {
      const { status, text } = await started.readiness()
      expect(status).toBe(503)
      expect(text).toContain(
        'ProxyPolicy cannot be read: the API server does not know it: install the CRDs of policy.gatehouse.dev/v1alpha1 ("gatehouse crds" prints them)',
      )
      expect(text).toContain(
        "HTTPRoute cannot be read: the API server does not know it: install the Gateway API's CRDs (v1.6.3, experimental channel)",
      )
    })
    await api.apply(...definitions())
    await eventually(async () => expect((await started.readiness()).status).toBe(200), 60_000)
  })

  test('with a policy that cannot be decoded holds back the routes of its namespace, and no others, from the start', async () => {
    await api.apply(...definitions())
    await eventually(() =>
      api.apply(
        gatewayClass(),
        gateway([8080]),
        service('app'),
        httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
      ),
    )
    const path =
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/proxypolicies.policy.gatehouse.dev'
    const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
    // An older CRD lets by what the present one refuses.
    await withoutConflict(async () => {
      const crd = await api.call('GET', path)
      const spec = crd.spec as { versions: { schema: object }[] }
      const versions = spec.versions.map((version) => ({
        ...version,
        schema: { openAPIV3Schema: open },
      }))
      await api.call('PUT', path, { ...crd, spec: { ...spec, versions } })
    })
    await eventually(() =>
      api.apply(policy('odd', { jwtAuthentication: { mode: 'Strictly', providers: [] } })),
    )
    const started = (replica = await startReplica({ kubeconfig: await api.kubeconfig() }))
    const status = JSON.parse(await started.status()) as {
      resources: { kind: string; name: string; conditions: { message: string }[] }[]
    }
    const messages = status.resources
      .filter(({ name }) => name === 'odd' || name === 'app')
      .flatMap(({ conditions }) => conditions.map(({ message }) => message))
      .join('\n')
    expect(messages).toContain('"Strictly" is not one of Strict, Optional, Permissive')
    expect(messages).toContain('waits until ProxyPolicy odd')
  })
})
