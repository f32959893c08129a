// SIGTERM to Gatehouse: requests in progress are finished in time or rejected, never passed on unchecked.

import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { json } from '../support/document-server.js'
import { send } from '../support/http.js'
import { keySet, newKey } from '../support/tokens.js'
import { PROVIDER_REGISTRATION, tokenBy, World } from '../support/world.js'

describe.concurrent('SIGTERM', () => {
  test('a check that waits for fresh keys gets them', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    await world.startEnvoy()
    await world.works()
    const rotated = await newKey('k2')
    const held = world.heldAt('/jwks')
    const waiting = world.statusOf('/mcp', await tokenBy(rotated))
    await held.arrived
    const stopped = gatehouse.stop()
    // By the log, which comes by itself: a check waits a second for keys.
    await eventually(() => expect(gatehouse.log()).toContain('draining'))
    held.release(json(keySet(rotated)))
    expect(await waiting).toBe(200)
    expect(await stopped).toBe(0)
  })

  test('a registration under way at the provider is waited for', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve(world.resources, '--drain-timeout', '20s')
    await world.startEnvoy()
    await world.works()
    const held = world.heldAt(PROVIDER_REGISTRATION)
    const registration = world.register()
    await held.arrived
    const stopped = gatehouse.stop()
    // No expect().rejects here: what fails before it holds would count for a test that runs beside this one.
    await eventually(async () => {
      expect(await send(`http://${world.grpc}`, '/').then(String, String)).toContain('ECONNREFUSED')
    })
    held.release(json({ client_id: 'late' }, 201))
    const { status, body } = await registration
    expect([status, JSON.parse(body)]).toEqual([201, { client_id: 'late' }])
    expect(await stopped).toBe(0)
  })

  test('an Envoy whose ADS stream is with another replica has time to notice', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve()
    const [host = '', port] = world.grpc.split(':')
    const checks = connect(Number(port), host)
    await once(checks, 'connect')
    const stopped = gatehouse.stop()
    await eventually(async () => {
      expect((await fetch(`${gatehouse.admin}/readyz`)).status).toBe(503)
    })
    const healthCheck = connect(Number(port), host)
    await once(healthCheck, 'connect')
    checks.destroy()
    healthCheck.destroy()
    expect(await stopped).toBe(0)
  })

  test('a registration that takes longer than the drain ends with 503, never at the backend', async (context) => {
    const world = await World.start(context)
    const gatehouse = await world.serve(world.resources, '--drain-timeout', '1s')
    await world.startEnvoy()
    await world.works()
    const seen = world.backend.requests.length
    const held = world.heldAt(PROVIDER_REGISTRATION)
    const registration = world.register()
    await held.arrived
    expect(await gatehouse.stop()).toBe(0)
    expect((await registration).status).toBe(503)
    expect(world.backend.requests).toHaveLength(seen)
  })
})
