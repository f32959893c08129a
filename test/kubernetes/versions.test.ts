// A kind that the API server serves in another version than at discovery, because its CRD was upgraded.

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import { type ApiServer, definitions } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { gateway, httpRoute } from '../support/resources.js'
import { gatewayClass, service } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

const GROUP = 'gateway.networking.k8s.io'
const ROUTES = `/apis/${GROUP}/v1/namespaces/default/httproutes`

interface Definition extends AnyObject {
  readonly spec: { readonly versions: readonly { readonly name: string }[] }
}

let api: ApiServer
let replica: Replica

/** The API server serves HTTPRoutes in this version alone. */
async function serve(version: string): Promise<void> {
  const name = `httproutes.${GROUP}`
  const all = definitions() as readonly Definition[]
  const found = all.find(({ metadata }) => metadata.name === name)
  if (found === undefined) throw new Error(`there is no ${name}`)
  const versions = found.spec.versions.map((each) => ({ ...each, served: each.name === version }))
  await api.apply({ ...found, spec: { ...found.spec, versions } })
  await eventually(() => api.call('GET', `/apis/${GROUP}/${version}/httproutes`))
}

const route = (version: string, ...names: readonly string[]): AnyObject => ({
  ...httpRoute('app', { rules: names.map((name) => ({ backendRefs: [{ name, port: 80 }] })) }),
  apiVersion: `${GROUP}/${version}`,
})

/** The observedGeneration of the condition. */
async function generationSeen(version: string): Promise<number | undefined> {
  const { status } = await api.get(`${GROUP}/${version}`, 'HTTPRoute', 'app')
  const { parents = [] } = (status ?? {}) as {
    parents?: { conditions: { observedGeneration: number }[] }[]
  }
  return parents[0]?.conditions[0]?.observedGeneration
}

beforeAll(async () => {
  api = await apiServerFor({ own: true })
  await serve('v1beta1')
  await api.apply(
    gatewayClass(),
    gateway([8080]),
    service('app'),
    service('other'),
    route('v1beta1', 'app'),
  )
  replica = await startReplica({ kubeconfig: await api.kubeconfig() })
})

afterAll(async () => {
  await replica.stop()
  await api.close()
})

test('is read and its status written in the version that is served now', async () => {
  await eventually(async () => expect(await generationSeen('v1beta1')).toBe(1))
  await serve('v1')
  await api.apply(route('v1', 'other'))
  await eventually(async () => expect(await generationSeen('v1')).toBe(2), 30_000)
  expect((await replica.readiness()).status).toBe(200)
})

test('is forgotten when it is deleted after that', async () => {
  await api.call('DELETE', `${ROUTES}/app`)
  await eventually(async () => {
    const { status } = await api.get(`${GROUP}/v1`, 'Gateway', 'gw')
    expect(status).toMatchObject({ listeners: [{ attachedRoutes: 0 }] })
  })
})
