// Each permission that the chart's roles have for the Envoys that Gatehouse creates is needed: when it alone is missing, the
// Gateway or the log names it, and all is well once it is there.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway } from '../support/resources.js'
import { gatewayClass, inNamespace } from './support/objects.js'
import { forgetReleases } from './support/releases.js'
import { type Permission, rolesFor, type Values } from './support/roles.js'
import { apiServerFor } from './support/shared-api-server.js'

const PATIENCE = 60_000
const CREATED = [
  ['', 'serviceaccounts', 'ServiceAccount'],
  ['', 'configmaps', 'ConfigMap'],
  ['', 'services', 'Service'],
  ['apps', 'deployments', 'Deployment'],
] as const
const READ = CREATED.filter(([, resource]) => resource !== 'services')

let api: ApiServer
let users = 0
let namespaces = 0

beforeAll(async () => {
  api = await apiServerFor()
  await api.apply(gatewayClass())
})

afterAll(() => api.close())

const permission = (group: string, resource: string): Permission => ({ group, resource, verbs: [] })

/** Sets the rights of a user of its own: all that the chart grants, perhaps without one verb. */
function newUser() {
  users += 1
  const user = `guest-${String(users)}`
  const values: Values = { envoys: { provision: true }, fullnameOverride: user }
  return {
    user,
    allow: (missing?: { readonly permission: Permission; readonly verb: string }) =>
      api.apply(...rolesFor(user, values, missing)),
    start: async (): Promise<Replica> =>
      startReplica({
        kubeconfig: await api.kubeconfig(user),
        name: user,
        lease: user,
        flags: ['--provision', '--connect', 'gatehouse.infra.svc:18000'],
      }),
  }
}

/** Creates a Gateway in a namespace of its own; returns the namespace. */
async function deployGateway(): Promise<string> {
  namespaces += 1
  const namespace = `tenant-${String(namespaces)}`
  await api.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await api.apply(inNamespace(namespace, gateway([8080])))
  return namespace
}

/** Resolves when the condition Programmed of the Gateway has this in its reason or message. */
const programmedSays = (namespace: string, text: string): Promise<void> =>
  eventually(async () => {
    const { status } = await api.get(
      ...(['gateway.networking.k8s.io/v1', 'Gateway', 'gw', namespace] as const),
    )
    const { conditions = [] } = (status ?? {}) as {
      readonly conditions?: readonly {
        readonly type: string
        readonly reason: string
        readonly message: string
      }[]
    }
    const found = conditions.find(({ type }) => type === 'Programmed')
    expect(`${found?.reason ?? ''}: ${found?.message ?? ''}`).toContain(text)
  }, PATIENCE)

describe('without the permission to write', () => {
  const { allow, start } = newUser()
  let replica: Replica

  beforeAll(async () => {
    await allow()
    replica = await start()
  })

  afterAll(async () => {
    await replica.stop()
    await forgetReleases(api)
  })

  test.each(CREATED)('"%s" %s, the Gateway says so', async (group, resource) => {
    for (const verb of ['get', 'create', 'patch']) {
      await allow({ permission: permission(group, resource), verb })
      const namespace = await deployGateway()
      await programmedSays(namespace, `cannot ${verb} resource "${resource}"`)
      await allow()
      await programmedSays(namespace, 'has no ready pod yet')
    }
  })

  test.each(CREATED)('"%s" %s: removing is refused, and logged', async (group, resource, kind) => {
    const namespace = await deployGateway()
    await programmedSays(namespace, 'has no ready pod yet')
    await allow({ permission: permission(group, resource), verb: 'delete' })
    await api.delete(inNamespace(namespace, gateway([8080])))
    await eventually(
      () => expect(replica.log()).toContain(`cannot delete resource \\"${resource}\\"`),
      PATIENCE,
    )
    await allow()
    await eventually(async () => {
      const version = group === '' ? 'v1' : `${group}/v1`
      await expect(api.get(version, kind, 'gw-gatehouse', namespace)).rejects.toThrow('HTTP 404')
    }, PATIENCE)
  })
})

describe('without the permission to read', () => {
  const rows = READ.flatMap((each) => ['list', 'watch'].map((verb) => [verb, ...each] as const))

  test.each(rows)('(%s "%s" %s), nothing is created', async (verb, group, resource, kind) => {
    const { allow, start } = newUser()
    await allow({ permission: permission(group, resource), verb })
    const replica = await start()
    try {
      const namespace = await deployGateway()
      await programmedSays(namespace, `NoResources: ${kind} cannot be read: `)
      await allow()
      await programmedSays(namespace, 'has no ready pod yet')
    } finally {
      await replica.stop()
      await forgetReleases(api)
    }
  })
})
