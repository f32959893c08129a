// The chart in mode central: its first installation, and the request of a client through a Gateway's address.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { policy } from '../kubernetes/support/objects.js'
import { eventually } from '../support/eventually.js'
import { gateway, httpRoute } from '../support/resources.js'
import { app } from './support/app.js'
import { addressOf, api, install, type Pod, readyPods, type Release } from './support/cluster.js'

const NAMESPACE = 'gatehouse'
const ENVOYS = [
  { gateway: 'default/gw', ports: [{ name: 'http', port: 80 }], serviceType: 'ClusterIP' },
]

let release: Release
let pods: readonly Pod[]

beforeAll(async () => {
  await api.apply(...app('shop'))
  release = await install(NAMESPACE, { envoys: ENVOYS })
  await api.apply(
    gateway([80]),
    httpRoute('shop', { rules: [{ backendRefs: [{ name: 'shop', port: 80 }] }] }),
    policy('no-post', allowOnly('request.method == "GET"'), 'shop'),
  )
  pods = await readyPods(NAMESPACE, 4, 60_000)
})

afterAll(() => release.uninstall())

const allowOnly = (expression: string): object => ({
  authorization: { policy: { matchExpressions: [expression] } },
})

test('two replicas and two Envoys become ready within a minute, without a restart', () => {
  expect(pods.map(({ restarts }) => restarts)).toEqual([0, 0, 0, 0])
})

test("the Gateway's address answers, and the policy of its route is in force", async () => {
  const url = `http://${await addressOf('gw')}/path`
  await eventually(async () => {
    const reply = await fetch(url)
    expect(reply.status).toBe(200)
    expect(await reply.json()).toMatchObject({ app: 'shop', url: '/path' })
  })
  expect((await fetch(url, { method: 'POST' })).status).toBe(403)
})
