// Envoys that start and stop beside a running Gatehouse: each gets the configuration meant for it.

import { describe, expect, test } from 'vitest'
import { freePort } from '../../testing/ports.js'
import { send } from '../support/http.js'
import { gateway, httpRoute, rule } from '../support/resources.js'
import { World } from '../support/world.js'

describe.concurrent('Envoys come and go', () => {
  test('one that starts again gets everything', async (context) => {
    const world = await World.start(context)
    await world.serve()
    const envoy = await world.startEnvoy()
    await world.works()
    await envoy.stop()
    await expect(world.statusOf('/mcp')).rejects.toThrow('ECONNREFUSED')
    await world.startEnvoy()
    await world.works()
    expect(await world.statusOf('/mcp')).toBe(401)
  })

  test('two at once: one for every Gateway, one for a Gateway of its own', async (context) => {
    const world = await World.start(context)
    const other = await freePort()
    const gatehouse = await world.serve([
      ...world.resources,
      gateway([other], 'own'),
      attachedTo('own'),
    ])
    const every = await world.startEnvoy()
    const one = await world.startEnvoy('default/own')
    expect(await every.listeners()).toHaveLength(2)
    expect(await one.listeners()).toHaveLength(1)
    const { envoys } = (await (await fetch(`${gatehouse.admin}/status`)).json()) as {
      envoys: { cluster: string; connected: boolean }[]
    }
    expect(envoys.map(({ cluster, connected }) => [cluster, connected]).sort()).toEqual([
      ['*', true],
      ['default/own', true],
    ])
    await world.works()
    await every.stop()
    await expect(world.statusOf('/mcp')).rejects.toThrow('ECONNREFUSED')
    expect((await send(`http://127.0.0.1:${String(other)}`, '/own')).status).toBe(200)
  })
})

const attachedTo = (name: string): object =>
  httpRoute('own', { parentRefs: [{ name }], rules: [rule('/own', 'backend')] })
